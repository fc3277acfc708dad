import { spawn, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../bin/lameduck.js", import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface Running {
  readonly child: ChildProcess;
  /** Resolves when stderr has said it. */
  said(words: RegExp): Promise<void>;
  readonly ended: Promise<Ended>;
}

/** Starts the command line as a user does. */
export function start(
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Running {
  const child = spawn(process.execPath, [program, ...args], {
    ...options,
    env: { ...process.env, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let err = "";
  child.stdout.on("data", (bytes: Buffer) => (out += bytes));
  child.stderr.on("data", (bytes: Buffer) => (err += bytes));
  const ended = new Promise<Ended>((resolve) => child.on("close", (code) => resolve({ code, out, err })));
  const said = async (words: RegExp): Promise<void> => {
    while (!words.test(err)) {
      if (child.exitCode !== null) throw new Error(`ended without saying ${words}: ${err}`);
      await new Promise((resolve) => child.stderr.once("data", resolve));
    }
  };
  return { child, said, ended };
}

export function run(
  args: readonly string[],
  options?: { cwd?: string; env?: NodeJS.ProcessEnv },
): Promise<Ended> {
  return start(args, options).ended;
}
