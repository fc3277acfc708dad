import { surgeLabel, surgeLabelValue } from "@lameduck/protocol";
import { isReady, type Pod } from "@lameduck/kube";
import type { DeletionCall } from "./deletion-call.ts";
import type { CommonDependencies } from "./deletions.ts";
import { type EvictionEnd, retryLaterSeconds, retryTimeoutMs } from "./evictions.ts";
import { isReplaced } from "./facts.ts";
import { isOver, markOf } from "./mark.ts";

/**
 * Puts the eviction of the only pod of a workload off until another is ready beside it. It does nothing else: the pod serves on in its Services,
 * and ends as it would have. Evictions that are held do the same, and more; where both are asked each has to agree.
 */
export class Surges {
  readonly #dependencies: CommonDependencies;

  constructor(dependencies: CommonDependencies) {
    this.#dependencies = dependencies;
  }

  async decide({ namespace, name }: DeletionCall): Promise<EvictionEnd> {
    const { client, pods, settings, now, onProblem } = this.#dependencies;
    try {
      const pod = await pods.get(namespace, name);
      if (!pod) return { because: "gone" };
      const { labels = {}, deletionTimestamp } = pod.metadata;
      if (labels[surgeLabel] !== surgeLabelValue) return { because: "not-chosen" };
      if (deletionTimestamp !== undefined) return { because: "terminating" };
      const mark = markOf(pod);
      if (!mark) return await this.#begin(pod);
      // Once it is withdrawn another was there before.
      if (mark.step === "withdrawn" || mark.replicaSet === undefined) return { ending: "replaced" };
      if (await isReplaced(client, namespace, mark.replicaSet)) return { ending: "replaced" };
      if (isOver(mark.stepBegan, settings.surgeReplacement, now())) return { because: "no-replacement" };
      return { later: retryLaterSeconds, why: "another pod is not ready yet" };
    } catch (error) {
      onProblem("surges", error);
      return { because: "fault" };
    }
  }

  async #begin(pod: Pod): Promise<EvictionEnd> {
    const { pods, settings, now } = this.#dependencies;
    if (!isReady(pod)) return { because: "not-ready" };
    const only = await pods.onlyPodOf(pod);
    if ("because" in only) return only;
    const began = now();
    const until = began + settings.surgeReplacement + retryTimeoutMs;
    await pods.replace(pod, { by: "evict", began, stepBegan: began, until, replicaSet: only.replicaSet });
    return { later: retryLaterSeconds, why: "another pod is being started first" };
  }
}
