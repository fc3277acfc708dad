import { spawn, type ChildProcess } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { RunClock } from "@lameduck/accounting";
import type { Cluster } from "../cluster/index.ts";

/** As in: 2026-11-21T20:01:11.123456789Z stderr F 2026/11/21 20:01:11 [notice] 15#15: gracefully shutting down */
const noticeLine = /^(\S+) \S+ \S+ .* (\d+)#\d+: (gracefully shutting down|exit)$/;

/**
 * From when to when each of nginx's workers was leaving, by what it says in its log. In that time it closes the connections of its clients: idle
 * ones at once, the others after the answer under way, and whoever asks something on one at that moment is cut.
 */
export class WorkerEnds implements Disposable {
  readonly #tail: ChildProcess;
  readonly #leaving = new Map<string, number>();

  private constructor(log: string, clock: RunClock, onEnd: (from: number, until: number) => void) {
    // It ends with us, however we end.
    this.#tail = spawn("tail", ["-n", "+1", "-F", `--pid=${process.pid}`, log], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    createInterface({ input: this.#tail.stdout! }).on("line", (line) => {
      const [, time = "", worker = "", what] = noticeLine.exec(line) ?? [];
      if (worker === "") return;
      const at = clock.fromEpoch(Date.parse(time));
      if (what === "exit") onEnd(this.#leaving.get(worker) ?? at, at);
      else this.#leaving.set(worker, at);
    });
  }

  static async of(
    { cluster, node, pod }: { cluster: Cluster; node: string; pod: string },
    clock: RunClock,
    onEnd: (from: number, until: number) => void,
  ): Promise<WorkerEnds> {
    const logs = join(cluster.directory, node, "var", "log", "pods");
    const uid = await cluster.field(["pod", pod], "{.metadata.uid}");
    const own = (await readdir(logs)).find((entry) => entry.endsWith(uid)) ?? "";
    return new WorkerEnds(join(logs, own, "proxy", "0.log"), clock, onEnd);
  }

  [Symbol.dispose](): void {
    this.#tail.kill("SIGKILL");
  }
}
