import { execFile } from "node:child_process";
import { unreadable } from "../consumer.ts";

/** Bytes of output with 50,000 Services. */
const mostBytes = 256 * 2 ** 20;
/** Milliseconds. Rules that take longer to read cannot be polled while pods wait. */
const longest = 30_000;

/** Runs a program and returns its output. @throws {OperatorError} where it fails. */
export function run(program: string, args: readonly string[], signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      program,
      args,
      { encoding: "latin1", maxBuffer: mostBytes, timeout: longest, killSignal: "SIGKILL", signal },
      (error, stdout, stderr) => {
        if (error === null) return resolve(stdout);
        const isLate = error.killed === true && !signal.aborted;
        const lastLine = stderr.trim().split("\n").at(-1) ?? "";
        const why = isLate
          ? `no answer within ${longest / 1_000} s`
          : lastLine === ""
            ? error.message
            : lastLine;
        reject(unreadable([program, ...args].join(" "), why.slice(0, 300), { cause: error }));
      },
    );
  });
}
