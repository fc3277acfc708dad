import { setTimeout as delay } from "node:timers/promises";
import type { KubernetesClient, Pod } from "@lameduck/kube";
import { isExpired, markOf } from "./mark.ts";
import { restore } from "./pods.ts";
import { heldMark } from "@lameduck/protocol";
import type { CommonDependencies } from "./deletions.ts";
import type { NodeShutdowns } from "./node-shutdowns.ts";

const lookIntervalMs = 10_000;

/** Pods that are marked as held. */
function listHeldPods(client: KubernetesClient, signal?: AbortSignal): Promise<readonly Pod[]> {
  return client.list<Pod>(`/api/v1/pods?labelSelector=${encodeURIComponent(heldMark)}`, signal);
}

/** Whether the deletion for which a pod was held, or the shutdown, does not happen any more. */
function isAbandoned(pod: Pod, now: number, shutdowns: Shutdowns | undefined): boolean {
  if (pod.metadata.deletionTimestamp !== undefined) return false;
  const mark = markOf(pod);
  if (mark?.by === "shutdown" && shutdowns) return shutdowns.isBack(pod.spec.nodeName);
  return mark === undefined || isExpired(mark, now);
}

type Shutdowns = Pick<NodeShutdowns, "isBack">;

/** Puts back what a replica that has died, or a caller that has given up, has left. */
export class Restorer {
  readonly #dependencies: CommonDependencies;
  readonly #isLeader: () => boolean;
  readonly #shutdowns: Shutdowns | undefined;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(dependencies: CommonDependencies, isLeader: () => boolean, shutdowns?: Shutdowns) {
    this.#dependencies = dependencies;
    this.#isLeader = isLeader;
    this.#shutdowns = shutdowns;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      if (this.#isLeader())
        await this.#restoreAbandoned().catch((error: unknown) => {
          if (!signal.aborted) this.#dependencies.onProblem("restorer", error);
        });
      await delay(lookIntervalMs * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined);
    }
  }

  async #restoreAbandoned(): Promise<void> {
    const { client, pods, now, onRestored, onProblem } = this.#dependencies;
    for (const pod of await listHeldPods(client, this.#stopping.signal))
      try {
        if (isAbandoned(pod, now(), this.#shutdowns) && (await pods.restore(pod))) onRestored();
      } catch (error) {
        // The others are to be as they were all the same.
        onProblem("restorer", error);
      }
  }
}

/** For an operator that is taken away: every pod is as it was before. @throws the error of one that cannot be, after all others. */
export async function restoreAll(
  client: KubernetesClient,
  signal: AbortSignal,
  onRestored: (pod: string) => void,
): Promise<void> {
  const failures: unknown[] = [];
  for (const pod of await listHeldPods(client, signal))
    try {
      const { namespace = "", name } = pod.metadata;
      if (await restore(client, pod, signal)) onRestored(`${namespace}/${name}`);
    } catch (error) {
      failures.push(error);
    }
  if (failures.length > 0) throw failures[0];
}
