import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { PodEvent, RunClock } from "@lameduck/accounting";
import { phaseIn } from "@lameduck/accounting/recording";
import type { Cluster } from "../../cluster/index.ts";

const serverPort = 8080;
/** Logs are removed about a second after a container's end. */
const everyMs = 150;
/**
 * Milliseconds. A line whose own time differs from the container runtime's by more comes from a wrong clock. Lines of the library reach the runtime within a
 * second. Lines of a preStop hook take longer, since PID 1 passes them on.
 */
const wrongClock = 4_000;

/** What the sample server says, and an nginx worker. */
const closesListener = /\{"event":"listener-closed"\}$| gracefully shutting down$/;

/** Reads what Lameduck and the server in the pods say of their phases, from the log files of all nodes. */
export class PhaseObserver implements AsyncDisposable {
  readonly events: PodEvent[] = [];
  readonly #directories: readonly string[];
  readonly #app: string;
  readonly #clock: RunClock;
  readonly #offsets = new Map<string, number>();
  readonly #polling: Promise<void>;
  #stopped = false;

  constructor(cluster: Cluster, app: string, clock: RunClock) {
    this.#app = app;
    this.#directories = cluster.nodeNames.map((node) => join(cluster.directory, node, "var", "log", "pods"));
    this.#clock = clock;
    this.#polling = this.#poll();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    await this.#polling;
  }

  async #poll(): Promise<void> {
    while (!this.#stopped) {
      for (const directory of this.#directories)
        for (const pod of await readdir(directory).catch(() => []))
          // As in default_web-5d9c8b-x2x7v_UID.
          if (pod.includes(`_${this.#app}-`)) await this.#read(directory, pod);
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  }

  async #read(directory: string, entry: string): Promise<void> {
    const path = join(directory, entry, "server", "0.log");
    try {
      await using file = await open(path);
      const from = this.#offsets.get(path) ?? 0;
      const { size } = await file.stat();
      if (size <= from) return;
      const { buffer, bytesRead } = await file.read(Buffer.alloc(size - from), 0, size - from, from);
      const text = buffer.subarray(0, bytesRead).toString();
      // An unfinished line is read again next time.
      const whole = text.slice(0, text.lastIndexOf("\n") + 1);
      this.#offsets.set(path, from + Buffer.byteLength(whole));
      const pod = entry.split("_")[1] ?? "";
      for (const line of whole.split("\n")) this.#take(pod, line);
    } catch {
      // Gone between listing and reading.
    }
  }

  #take(pod: string, line: string): void {
    // Of those who do not say when, the container runtime does.
    const logged = Date.parse(line.slice(0, line.indexOf(" ")));
    if (closesListener.test(line)) {
      const at = this.#clock.fromEpoch(logged);
      this.events.push({ at, pod, type: "listener-closed", port: serverPort });
      return;
    }
    const said = phaseIn(line, logged);
    if (said === undefined) return;
    // A pod whose clock is wrong says it at the right time.
    const at = Math.abs(said.at - logged) > wrongClock ? logged : said.at;
    this.events.push({ ...said, at: this.#clock.fromEpoch(at), pod, type: "phase" });
  }
}
