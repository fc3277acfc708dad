import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Cluster } from "../cluster/index.ts";

export interface RuntimeExit {
  readonly at: number;
  /** The process: equal to `container` for the container's own, another id for hooks and probes. */
  readonly id: string;
  readonly container: string;
  readonly code: number;
}

/** Ends of processes in all containers of a node, as its containerd tells them. */
export class RuntimeEvents implements Disposable {
  readonly exits: RuntimeExit[] = [];
  readonly #child;

  constructor(cluster: Cluster, node: string) {
    const { program, args } = cluster.commandInside(node, [cluster.program("ctr"), "-n", "k8s.io", "events"]);
    this.#child = spawn(program, args, { stdio: ["ignore", "pipe", "ignore"] });
    createInterface({ input: this.#child.stdout }).on("line", (line) => {
      const [, json] = /\/tasks\/exit (\{.*\})$/.exec(line) ?? [];
      if (json === undefined) return;
      const event = JSON.parse(json) as {
        container_id: string;
        id: string;
        exit_status?: number;
        exited_at: string | { seconds: number; nanos?: number };
      };
      const { exited_at: ended } = event;
      const at =
        typeof ended === "string"
          ? new Date(ended).getTime()
          : ended.seconds * 1e3 + (ended.nanos ?? 0) / 1e6;
      this.exits.push({ at, id: event.id, container: event.container_id, code: event.exit_status ?? 0 });
    });
  }

  [Symbol.dispose](): void {
    this.#child.kill("SIGKILL");
  }
}
