import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { readFileSync, readlinkSync } from "node:fs";
import { createInterface } from "node:readline";
import { isInstalled } from "../toolchain/compilers.ts";

/** How a program ended: its exit code as a shell shows it, and all that it said. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const started = new Set<ChildProcess>();

/** For `afterEach`: a test that fails half-way leaves no process behind, nor a test runner that waits for it. */
export function endAll(): void {
  endThose(() => true);
}

/** Those whose words on the command line are so. */
export function endThose(which: (words: readonly string[]) => boolean): void {
  for (const child of started) {
    if (!which(child.spawnargs)) continue;
    const below = child.pid !== undefined && child.exitCode === null ? descendantsOf(child.pid) : [];
    child.kill("SIGKILL");
    for (const pid of below) end(pid);
    // What it left behind may hold these open for ever.
    child.stdout?.destroy();
    child.stderr?.destroy();
    started.delete(child);
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}

/** A program that runs, whose lines can be waited for. */
export class Running {
  readonly process: ChildProcess;
  readonly lines: string[] = [];
  stderr = "";
  readonly ended: Promise<Ended>;
  #changed = Promise.withResolvers<void>();
  #isOver = false;

  constructor(command: string, arguments_: readonly string[], options: SpawnOptions = {}) {
    this.process = spawn(command, arguments_, { stdio: ["ignore", "pipe", "pipe"], ...options });
    started.add(this.process);
    const { stdout, stderr } = this.process;
    if (stdout) createInterface({ input: stdout }).on("line", (line) => this.#note(line));
    stderr?.on("data", (chunk: Buffer) => {
      this.stderr += chunk.toString();
      this.#wake();
    });
    this.ended = this.#untilEnded();
  }

  get pid(): number {
    if (this.process.pid === undefined) throw new Error("not started");
    return this.process.pid;
  }

  async #untilEnded(): Promise<Ended> {
    const [code, signal] = (await once(this.process, "close")) as [number | null, string | null];
    this.#isOver = true;
    started.delete(this.process);
    this.#wake();
    return {
      code: code ?? 128 + signalNumber(signal ?? ""),
      stdout: this.lines.join("\n"),
      stderr: this.stderr,
    };
  }

  #note(line: string): void {
    this.lines.push(line);
    this.#wake();
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /** Waits until `condition` holds; it is asked whenever something was said. */
  async until(condition: () => boolean, what = condition.toString()): Promise<void> {
    while (!condition()) {
      if (this.#isOver)
        throw new Error(`ended before ${what}; said ${this.lines.join(" | ")} / ${this.stderr}`);
      await this.#changed.promise;
    }
  }

  async line(wanted: string): Promise<void> {
    await this.until(() => this.lines.includes(wanted), `the line ${wanted}`);
  }

  async says(part: string | RegExp): Promise<void> {
    await this.until(
      () => (typeof part === "string" ? this.stderr.includes(part) : part.test(this.stderr)),
      `stderr has ${String(part)}`,
    );
  }

  kill(signal: string | number): void {
    process.kill(this.pid, signal);
  }
}

export async function run(
  command: string,
  arguments_: readonly string[],
  options: SpawnOptions = {},
): Promise<Ended> {
  return new Running(command, arguments_, options).ended;
}

const numbers: Record<string, number> = {
  SIGKILL: 9,
  SIGTERM: 15,
  SIGINT: 2,
  SIGHUP: 1,
  SIGABRT: 6,
  SIGSEGV: 11,
};

function signalNumber(name: string): number {
  return numbers[name] ?? 0;
}

/** The processes whose parent is `pid`, with the letter of their state. */
export function childrenOf(pid: number): { pid: number; state: string }[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return children === ""
    ? []
    : children.split(" ").map((child) => ({ pid: Number(child), state: stateOf(Number(child)) }));
}

/** Children, their children and so on; those that are gone meanwhile have none. */
export function descendantsOf(pid: number): number[] {
  try {
    return childrenOf(pid).flatMap((child) => [child.pid, ...descendantsOf(child.pid)]);
  } catch {
    return [];
  }
}

export function onlyChildOf(pid: number): number {
  const [child, ...others] = childrenOf(pid);
  if (!child || others.length > 0) throw new Error(`${pid} has not one child but ${others.length + 1}`);
  return child.pid;
}

/** The program that a process runs, "" once it is gone. */
export function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")[0] ?? "";
  } catch {
    return "";
  }
}

export function cwdOf(pid: number): string {
  return readlinkSync(`/proc/${pid}/cwd`);
}

/** The session that a process belongs to. */
export function sessionOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[3]);
}

/** "R", "S", "T", "Z" ..., or "" once it is gone. */
export function stateOf(pid: number): string {
  try {
    return /^State:\s+(\w)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? "";
  } catch {
    return "";
  }
}

/** Asks again every few milliseconds: for what announces itself nowhere. */
export async function eventually(condition: () => boolean, what: string, timeout = 10_000): Promise<void> {
  const deadline = performance.now() + timeout;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`not within ${timeout} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** `skip` option of tests that need root's namespaces: one line why not, or false. */
export const withoutNamespaces: string | false =
  process.platform !== "linux"
    ? "needs Linux"
    : process.getuid?.() !== 0
      ? "needs root, for network and process namespaces"
      : ["unshare", "nsenter", "ip", "setpriv"].find((tool) => !isInstalled(tool)) !== undefined
        ? "needs unshare, nsenter, setpriv and ip (util-linux, iproute2)"
        : false;
