import { spawn, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { enterStage, type StageErrorCode } from "@lameduck/stage";

export const program = fileURLToPath(new URL("../bin/lameduck.js", import.meta.url));

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

interface Where {
  readonly cwd?: string | URL;
  readonly env?: NodeJS.ProcessEnv;
  /** In a process group of its own. */
  readonly detached?: boolean;
}

/** Starts the command line. */
export function start(args: readonly string[], where?: Where): Running {
  return startProgram(process.execPath, [program, ...args], where);
}

export function run(args: readonly string[], where?: Where): Promise<Ended> {
  return start(args, where).ended;
}

/** Runs a program to its end. */
export function runProgram(file: string, args: readonly string[], where?: Where): Promise<Ended> {
  return startProgram(file, args, where).ended;
}

function startProgram(file: string, args: readonly string[], where: Where = {}): Running {
  const child = spawn(file, args, { ...where, stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  let err = "";
  child.stdout.on("data", (bytes: Buffer) => (out += bytes));
  child.stderr.on("data", (bytes: Buffer) => (err += bytes));
  const ended = new Promise<Ended>((resolve) => child.on("close", (code) => resolve({ code, out, err })));
  const said = async (words: RegExp): Promise<void> => {
    while (!words.test(err)) {
      if (child.exitCode !== null) throw new Error(`ended without saying ${words}: ${err}`);
      await Promise.race([ended, new Promise((resolve) => child.stderr.once("data", resolve))]);
    }
  };
  return { child, said, ended };
}

/** The `skip` option of a test whose lab asks for namespaces of its own: false where this machine has them. */
export async function withoutNamespaces(): Promise<string | false> {
  try {
    await enterStage("", [], { network: "namespaces", nodeArguments: ["-e", "0"] });
    return false;
  } catch (error) {
    if ((error as { code?: StageErrorCode }).code === "LAMEDUCK_NO_NAMESPACES") return "needs namespaces";
    throw error;
  }
}
