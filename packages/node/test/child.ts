import { spawn, type ChildProcessWithoutNullStreams, type StdioOptions } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import {
  parseEvents,
  type ClosedEvent,
  type ClosingEvent,
  type LameDuckEvent,
  type LameduckEvent,
} from "../src/events.ts";

/** A real server in a real process, to be stopped by real signals. */
export class Child {
  readonly process: ChildProcessWithoutNullStreams;
  stdout = "";
  stderr = "";
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null; at: number }>;

  constructor(process: ChildProcessWithoutNullStreams) {
    this.process = process;
    process.stdout.setEncoding("utf8").on("data", (text: string) => (this.stdout += text));
    process.stderr.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    this.exited = once(process, "close").then(([code, signal]) => ({
      code: code as number | null,
      signal: signal as NodeJS.Signals | null,
      at: performance.now(),
    }));
  }

  get ports(): number[] {
    const found = /^listening (.*)$/m.exec(this.stdout);
    return found?.[1]?.split(" ").map(Number) ?? [];
  }

  get port(): number {
    return this.ports[0] ?? 0;
  }

  get events(): LameduckEvent[] {
    return parseEvents(this.stderr);
  }

  event(phase: "lame-duck"): LameDuckEvent | undefined;
  event(phase: "closing"): ClosingEvent | undefined;
  event(phase: "closed"): ClosedEvent | undefined;
  event(phase: string): LameduckEvent | undefined;
  event(phase: string): LameduckEvent | undefined {
    return this.events.find((event) => event.lameduck === "phase" && event.phase === phase);
  }

  /** Whether it was closed sooner than a hold to its cap would have let it. */
  get endedBeforeCap(): boolean {
    const begun = this.event("lame-duck");
    const closed = this.event("closed");
    return begun !== undefined && closed !== undefined && closed.elapsed < begun.cap;
  }

  /** Waits until a phase is announced, or anything else is true. */
  async until(what: string | (() => boolean), timeout = 20_000): Promise<void> {
    const isTrue = typeof what === "string" ? () => this.event(what) !== undefined : what;
    await until(isTrue, timeout, () => `waited for ${String(what)}\n${this.stdout}${this.stderr}`);
  }

  kill(signal: NodeJS.Signals = "SIGTERM"): void {
    this.process.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill("SIGKILL");
    // Children that it leaves behind may have its output: nobody waits for their end.
    for (const stream of [this.process.stdout, this.process.stderr]) stream?.destroy();
    await this.exited;
  }
}

export async function until(isTrue: () => boolean, timeout: number, story: () => string): Promise<void> {
  const latest = performance.now() + timeout;
  while (!isTrue()) {
    if (performance.now() > latest) throw new Error(story());
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Environment of a test's child: nothing of ours leaks in, but where compiled sources are kept. */
export function cleanEnvironment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => name === "NODE_COMPILE_CACHE" || !/^(?:LAMEDUCK|KUBERNETES|NODE)_/.test(name),
  );
  return { ...Object.fromEntries(kept), ...extra };
}

/** A process may be long in starting where others want the machine as well. */
const startUp = 90_000;

export async function startScript(
  args: readonly string[],
  env: Record<string, string> = {},
  ready: (child: Child) => boolean = (child) => child.ports.length > 0,
): Promise<Child> {
  const child = new Child(spawn(process.execPath, [...args], { env: cleanEnvironment(env), stdio: "pipe" }));
  let gone = false;
  void child.exited.then(() => (gone = true));
  await child.until(() => ready(child) || gone, startUp);
  return child;
}

export function fixture(name: string): string {
  return fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));
}

/** A script that can be asked, by messages, and can collect its garbage. */
export async function startCounted(args: readonly string[], env: Record<string, string>): Promise<Child> {
  const stdio: StdioOptions = ["pipe", "pipe", "pipe", "ipc"];
  const all = ["--expose-gc", ...args];
  const counted = spawn(process.execPath, all, { env: cleanEnvironment(env), stdio });
  const child = new Child(counted as ChildProcessWithoutNullStreams);
  await child.until(() => child.ports.length > 0 || child.process.exitCode !== null, startUp);
  return child;
}

/** The fixture server with so few file descriptors that they run out. Both limits, because Node raises the soft one to the hard one. */
export async function startStarved(descriptors: number, env: Record<string, string>): Promise<Child> {
  const command = `ulimit -n ${descriptors}; exec "$0" "$@"`;
  const args = ["-c", command, process.execPath, fixture("server.ts")];
  const child = new Child(spawn("sh", args, { env: cleanEnvironment(env), stdio: "pipe" }));
  await child.until(() => child.ports.length > 0 || child.process.exitCode !== null, startUp);
  return child;
}

/** The fixture server, in a pod's environment unless told otherwise. */
export function startServer(wanted: object = {}, env: Record<string, string> = inPod): Promise<Child> {
  return startScript([fixture("server.ts")], { FIXTURE: JSON.stringify(wanted), ...env });
}

export const inPod: Record<string, string> = {
  KUBERNETES_SERVICE_HOST: "198.18.0.1",
  LAMEDUCK_GRACE_PERIOD: "30s",
};
