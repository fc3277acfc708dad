import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import type { Socket } from "node:net";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { initBinary } from "@lameduck/init";
import { enterStage, type StageErrorCode } from "@lameduck/stage";
import type { Asked } from "./commands-process.ts";
import { program } from "./program.ts";

export { program } from "./program.ts";

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

/** Starts the command line, in a process of its own. */
export function start(args: readonly string[], where?: Where): Running {
  return startProgram(process.execPath, [program, ...args], where);
}

/** Runs the command line to its end, in a process of its own. */
export function runAlone(args: readonly string[], where?: Where): Promise<Ended> {
  return start(args, where).ended;
}

/** Runs the command line to its end, in the process that runs those of the whole test file in turn. */
export function run(args: readonly string[], { cwd = ".", env = process.env }: Where = {}): Promise<Ended> {
  const path = cwd instanceof URL ? fileURLToPath(cwd) : resolve(cwd);
  const ended = last.then(() => (commands ??= new Commands()).run({ args, cwd: path, env }));
  last = ended.catch(() => undefined);
  return ended;
}

let commands: Commands | undefined;
let last: Promise<unknown> = Promise.resolve();

/** A process that runs command lines. It keeps this one alive only while it runs one, and ends with it. */
class Commands {
  readonly #child = spawn(
    process.execPath,
    [fileURLToPath(new URL("commands-process.ts", import.meta.url))],
    {
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    },
  );
  #out = "";
  #err = "";
  #heard = (): void => {};

  constructor() {
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#out += text;
      this.#hear();
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#err += text;
      this.#hear();
    });
    this.#child.on("close", () => this.#heard());
    this.#keepWaiting(false);
  }

  async run(asked: Asked): Promise<Ended> {
    this.#out = this.#err = "";
    this.#keepWaiting(true);
    const heard = new Promise<void>((done) => (this.#heard = done));
    this.#child.send(asked);
    await heard;
    this.#keepWaiting(false);
    const [out, err] = [this.#out, this.#err].map((text) => answer.exec(text));
    if (!out || !err) throw new Error(`the process of the commands has ended: ${this.#err}`);
    return { code: Number(out[2]), out: out[1] ?? "", err: err[1] ?? "" };
  }

  #hear(): void {
    if (answer.test(this.#out) && answer.test(this.#err)) this.#heard();
  }

  #keepWaiting(waits: boolean): void {
    const { channel, stdout, stderr } = this.#child;
    for (const one of [this.#child, channel, stdout as Socket | null, stderr as Socket | null])
      if (waits) one?.ref();
      else one?.unref();
  }
}

/** What a command has printed, and its exit code. */
const answer = /^([^]*)\0(\d+)\0$/;

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
  const ended = new Promise<Ended>((done) => child.on("close", (code) => done({ code, out, err })));
  const said = async (words: RegExp): Promise<void> => {
    while (!words.test(err)) {
      if (child.exitCode !== null) throw new Error(`ended without saying ${words}: ${err}`);
      await Promise.race([ended, new Promise((heard) => child.stderr.once("data", heard))]);
    }
  };
  return { child, said, ended };
}

/** The `skip` option of a test whose lab asks for namespaces of its own: false where this machine has them. */
export async function withoutNamespaces(): Promise<string | false> {
  try {
    await enterStage("-e", ["0"], { network: "namespaces" });
    return false;
  } catch (error) {
    if ((error as { code?: StageErrorCode }).code === "LAMEDUCK_NO_NAMESPACES") return "needs namespaces";
    throw error;
  }
}

/** Put before a command that an ordinary user runs. */
export const nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"];

/** Ordinary users may be forbidden to make namespaces, or to read this clone. */
export function withoutNobody(): string | false {
  if (process.getuid?.() !== 0) return "runs as an ordinary user anyway";
  const [file, ...args] = [...nobody, "unshare", "--user", "--map-root-user", "--net", "ls", program];
  return spawnSync(file, args).status === 0 ? false : "needs user namespaces for ordinary users";
}

/** Whether lameduck-init has been built. */
export function hasInit(): boolean {
  try {
    return initBinary() !== "";
  } catch {
    return false;
  }
}
