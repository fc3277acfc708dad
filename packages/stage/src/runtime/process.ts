import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { closeSync, constants, fchownSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { PodNetwork, Bind, Launch, LaunchRoot } from "../network/network.ts";
import { argumentsOf, childOf, killIfRunning } from "./children.ts";
import { Output } from "./output.ts";

/** Between two looks at a process that begins. */
const lookMs = 2;

export interface Exit {
  readonly at: number;
  readonly code?: number;
  readonly signal?: NodeJS.Signals;
}

/** "exit code 1", "signal SIGKILL" */
export function spellExit({ code, signal }: Exit): string {
  return signal === undefined ? `exit code ${code ?? "unknown"}` : `signal ${signal}`;
}

interface StartOptions {
  readonly network: PodNetwork;
  readonly launch: Launch;
  readonly binds: readonly Bind[];
  readonly now: () => number;
  readonly onLine: (line: string) => void;
}

/** One run of a container's command: a real process, in the pod's namespaces where there are any. */
export class ContainerProcess {
  readonly exited: Promise<Exit>;
  /** Its output has been read to the end, too. */
  readonly closed: Promise<void>;
  readonly launch: Launch;
  readonly #network: PodNetwork;
  readonly #outer: ChildProcess;
  /** What was spawned: the command behind the words that set it up. */
  readonly #words: readonly string[];
  /**
   * The command's process as the stage sees it, once it has a root, volumes and a user of its own. What ran beside it sooner would meet this
   * machine's own files. Undefined when it ended before that.
   */
  readonly pid: Promise<number | undefined>;
  /** The same process from its beginning, to be killed. */
  readonly #first: Promise<number | undefined>;
  readonly output: Output;
  #exit: Exit | undefined;
  #killed = false;

  constructor({ network, launch, binds, now, onLine }: StartOptions) {
    this.#network = network;
    this.launch = launch;
    this.output = new Output(onLine);
    const inner = network.container(launch, binds);
    this.#words = inner.command;
    // Without a process namespace the group is what holds the children of a container together.
    const isGroup = !network.ownProcesses;
    const { child: outer, last } = spawnRead(inner, launch.root, isGroup, this.output);
    this.#outer = outer;
    const watch = outer.pid === undefined ? undefined : network.watch(outer.pid);
    this.exited = new Promise((resolve) => {
      const ended = (exit: Exit): void => {
        this.#exit = exit;
        this.#killGroup();
        watch?.done();
        resolve(exit);
      };
      outer.on("exit", (code, signal) => ended({ at: now(), ...this.#howItEnded(code, signal) }));
      outer.on("error", (error) => {
        this.output.add(error.message);
        if (outer.pid === undefined) ended({ at: now(), code: 127 });
      });
    });
    this.closed = new Promise((resolve) => {
      last.on("close", () => resolve());
      outer.on("error", () => resolve());
    });
    this.#first = network.ownProcesses ? this.#findChild() : Promise.resolve(outer.pid);
    this.pid = network.ownProcesses ? this.#findCommand() : this.#first;
  }

  get running(): boolean {
    return this.#exit === undefined;
  }

  /** @returns whether it was delivered. */
  async signal(signal: NodeJS.Signals): Promise<boolean> {
    const pid = await (signal === "SIGKILL" ? this.#first : this.pid);
    if (pid === undefined || this.#exit) return false;
    if (signal === "SIGKILL") this.#killed = true;
    return killIfRunning(pid, signal);
  }

  /** Kills it and everything it started, at once. */
  async kill(): Promise<void> {
    if (await this.signal("SIGKILL")) return;
    if (this.running) this.#outer.kill("SIGKILL");
  }

  /**
   * Runs a command beside the container's own, as exec hooks and probes do.
   * @returns the exit code; undefined when `signal` ended it.
   */
  async exec(command: readonly string[], signal: AbortSignal): Promise<ExecResult> {
    const pid = await this.pid;
    if (pid === undefined || this.#exit) return { code: 137, output: "the container is not running" };
    return execBeside(
      this.#network.beside(pid, { ...this.launch, command }),
      this.#network.ownProcesses,
      signal,
    );
  }

  /** The wrapper that was spawned becomes the parent of the container's process. */
  async #findChild(): Promise<number | undefined> {
    const { pid } = this.#outer;
    if (pid === undefined) return undefined;
    while (this.running) {
      const child = childOf(pid);
      if (child !== undefined) return child;
      await delay(lookMs);
    }
    return undefined;
  }

  /** A shell and programs of this machine set the container up, one in place of the other. */
  async #findCommand(): Promise<number | undefined> {
    const pid = await this.#first;
    while (this.running) {
      if (pid !== undefined && this.#isCommand(argumentsOf(pid))) return pid;
      await delay(lookMs);
    }
    return undefined;
  }

  /**
   * Whether a process with these words has become the command. Until then each program that sets it up has the end of what was spawned.
   * The interpreter of a script has words of its own before the command, as many as it likes.
   */
  #isCommand(words: readonly string[]): boolean {
    const isSettingUp =
      words.length > this.launch.command.length &&
      words.every((word, index) => this.#words.at(index - words.length) === word);
    return words.length > 0 && !isSettingUp;
  }

  /** util-linux before 2.39 cannot pass on that its child was killed by SIGKILL: it ends with 1 instead. */
  #howItEnded(code: number | null, signal: NodeJS.Signals | null): Omit<Exit, "at"> {
    if (signal !== null) return { signal };
    if (code === 1 && this.#killed) return { signal: "SIGKILL" };
    return code === null ? {} : { code };
  }

  #killGroup(): void {
    if (!this.#network.ownProcesses) killIfRunning(this.#outer.pid && -this.#outer.pid, "SIGKILL");
  }
}

/** @returns with the child what closes when its output has been read to the end. */
function spawnRead(
  { command: [file = "", ...args], env, directory: cwd }: Launch,
  root: LaunchRoot | undefined,
  detached: boolean,
  output: Output,
): { readonly child: ChildProcess; readonly last: ChildProcess | Socket } {
  const pipe = root && openPipe(root);
  const out = pipe?.writer ?? "pipe";
  let child: ChildProcess;
  try {
    child = spawn(file, args, { cwd, env, detached, stdio: ["ignore", out, out] });
  } catch (error) {
    pipe?.reader.destroy();
    throw error;
  } finally {
    if (pipe) closeSync(pipe.writer);
  }
  for (const stream of pipe ? [pipe.reader] : [child.stdout, child.stderr]) if (stream) output.read(stream);
  return { child, last: pipe?.reader ?? child };
}

/**
 * A pipe with a name for a moment. Node's own pipes are sockets, which cannot be opened again as /dev/stdout, as nginx does for its log; and
 * only its owner may open a pipe again.
 */
function openPipe({ user, group }: LaunchRoot): { readonly reader: Socket; readonly writer: number } {
  const folder = mkdtempSync(join(tmpdir(), "lameduck-pipe-"));
  try {
    const path = join(folder, "pipe");
    execFileSync("mkfifo", ["-m", "600", path]);
    // Whoever reads first must not wait for the writer, and find no end before there is one.
    const reading = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const writer = openSync(path, constants.O_WRONLY);
    if (process.getuid?.() === 0) chownOrNot(writer, user, group);
    return { reader: new Socket({ fd: reading, readable: true, writable: false }), writer };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** In a user namespace of one user there is nobody else to own it, and nobody else who would open it. */
function chownOrNot(file: number, user: number, group: number): void {
  try {
    fchownSync(file, user, group);
  } catch {
    // It stays the stage's own.
  }
}

interface ExecResult {
  readonly code: number | undefined;
  readonly output: string;
}

function execBeside(launch: Launch, wrapped: boolean, signal: AbortSignal): Promise<ExecResult> {
  return new Promise((resolve) => {
    const output = new Output();
    const directory = wrapped ? "/" : launch.directory;
    const { child } = spawnRead({ ...launch, directory }, launch.root, true, output);
    const cut = (): void => {
      const { pid } = child;
      if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
      if (!wrapped) return void killIfRunning(-pid, "SIGKILL");
      // Only what runs inside: whoever entered the container reaps it, and ends then. Were both killed, nobody would reap it, and the kernel
      // would wait for that before it lets the container end.
      if (!killIfRunning(childOf(pid), "SIGKILL")) setTimeout(cut, lookMs);
    };
    if (signal.aborted) cut();
    signal.addEventListener("abort", cut, { once: true });
    const ended = (code: number | undefined): void => {
      signal.removeEventListener("abort", cut);
      resolve({ code: signal.aborted ? undefined : code, output: output.tail().slice(-3).join(" | ") });
    };
    child.on("error", (error) => {
      output.add(error.message);
      ended(127);
    });
    child.on("exit", (code) => ended(code ?? 137));
  });
}
