import { execFile } from "node:child_process";
import { unreadable } from "../consumers/consumer.ts";

/** What 50,000 Services would take. */
const mostBytes = 256 * 2 ** 20;
/** Milliseconds. Rules that take so long to read cannot be looked at while pods wait. */
const longest = 30_000;

/** What a program writes, if it ends well. @throws {OperatorError} */
export function run(program: string, args: readonly string[], signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      program,
      args,
      { encoding: "latin1", maxBuffer: mostBytes, timeout: longest, killSignal: "SIGKILL", signal },
      (error, stdout, stderr) => {
        if (error === null) return resolve(stdout);
        const isLate = error.killed === true && !signal.aborted;
        const said = stderr.trim().split("\n").at(-1) ?? "";
        const why = isLate ? `no answer within ${longest / 1_000} s` : said === "" ? error.message : said;
        reject(unreadable([program, ...args].join(" "), why.slice(0, 300), { cause: error }));
      },
    );
  });
}
