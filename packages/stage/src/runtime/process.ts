import { spawn, type ChildProcess } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import type { PodNetwork, Bind, Launch } from "../network/network.ts";
import { childOf, killIfRunning } from "./children.ts";
import { Output } from "./output.ts";

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
  /** As the stage sees it; undefined when it ended before it could be found. */
  readonly pid: Promise<number | undefined>;
  readonly output: Output;
  #exit: Exit | undefined;
  #killed = false;

  constructor({ network, launch, binds, now, onLine }: StartOptions) {
    this.#network = network;
    this.launch = launch;
    this.output = new Output(onLine);
    const { command, env, directory } = network.container(launch, binds);
    const [file = "", ...args] = command;
    const outer = spawn(file, args, {
      cwd: directory,
      env,
      stdio: ["ignore", "pipe", "pipe"],
      // Without a process namespace the group is what holds the children of a container together.
      detached: !network.ownProcesses,
    });
    this.#outer = outer;
    this.output.read(outer.stdout);
    this.output.read(outer.stderr);
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
      outer.on("close", () => resolve());
      outer.on("error", () => resolve());
    });
    this.pid = network.ownProcesses ? this.#findChild() : Promise.resolve(outer.pid);
  }

  get running(): boolean {
    return this.#exit === undefined;
  }

  /** @returns whether it was delivered. */
  async signal(signal: NodeJS.Signals): Promise<boolean> {
    const pid = await this.pid;
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
      await delay(2);
    }
    return undefined;
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

interface ExecResult {
  readonly code: number | undefined;
  readonly output: string;
}

function execBeside(launch: Launch, wrapped: boolean, signal: AbortSignal): Promise<ExecResult> {
  const [file = "", ...args] = launch.command;
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      cwd: wrapped ? "/" : launch.directory,
      env: launch.env,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    const output = new Output();
    output.read(child.stdout);
    output.read(child.stderr);
    const cut = (): void => {
      const { pid } = child;
      if (pid === undefined) return;
      if (wrapped) killIfRunning(childOf(pid), "SIGKILL");
      killIfRunning(-pid, "SIGKILL");
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
