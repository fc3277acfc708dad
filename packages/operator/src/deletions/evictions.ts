import type { Pod } from "@lameduck/kube";
import type { Asked } from "./call/asked.ts";
import { reserve } from "./budget.ts";
import type { Dependencies } from "./dependencies.ts";
import { isReplaced } from "./facts.ts";
import { podLetThrough, type LetThrough } from "./let-through.ts";
import { markOf, type Mark } from "./mark.ts";
import { losing, type Study } from "./pods.ts";
import { isReleased, type Ending } from "./release/released.ts";

/** `later`: seconds after which the caller should ask again, and why. */
export type EvictionEnd =
  | { readonly ending: Ending }
  | { readonly because: LetThrough }
  | { readonly later: number; readonly why: string };

/** kubectl drain asks again after 5 s whatever we say; others as we say. */
const soon = 2;
const notSoSoon = 5;
/** A caller that has not come back by then has given up. Milliseconds. */
const retryTimeout = 60_000;

/**
 * Puts evictions off, as a disruption budget does: first another pod is made, then this one is withdrawn and let go of by everybody, then
 * it is evicted. No call waits; what has been done stands in the pod, so that any replica goes on with it.
 */
export class Evictions {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  async judge({ namespace, name, graceSeconds }: Asked, gone: AbortSignal): Promise<EvictionEnd> {
    const { pods, endpoints, settings, now, onProblem } = this.#dependencies;
    try {
      const pod = await pods.get(namespace, name);
      const because = pod ? podLetThrough(pod) : "gone";
      if (!pod || because) return { because: because ?? "gone" };
      if (graceSeconds !== undefined && graceSeconds <= 1) return { because: "at-once" };
      if (!endpoints.isKnown) return { because: "blind" };
      const mark = markOf(pod);
      const study = await pods.study(pod, mark);
      if (!study) return { because: "blind" };
      if (mark?.step === "withdrawn") return await this.#letGo(pod, mark, study, gone);
      if ("because" in study.plan) return { because: study.plan.because };
      // The API server refuses these by itself.
      if (study.budgets.length > 1) return { because: "fault" };
      const steps = {
        by: "evict",
        began: mark?.began ?? now(),
        until: now() + settings.replacement + settings.evictionLimit + retryTimeout,
      } as const;
      return mark
        ? await this.#whenReplaced(pod, mark, study, steps)
        : await this.#first(pod, study, study.plan.remove, steps);
    } catch (error) {
      onProblem("evictions", error);
      return { because: "fault" };
    }
  }

  async #first(
    pod: Pod,
    study: Study,
    remove: readonly string[],
    steps: Pick<Mark, "by" | "began" | "until">,
  ): Promise<EvictionEnd> {
    const { replaceableBy: replicaSet, services } = study;
    const { pods, endpoints, now } = this.#dependencies;
    if (replicaSet !== undefined) {
      await pods.replace(pod, { ...steps, stepBegan: now(), replicaSet });
      return { later: notSoSoon, why: "another pod is being started first" };
    }
    if (endpoints.isLast(services, pod.metadata.uid, new Set())) return { because: "last-endpoint" };
    return this.#withdraw(pod, undefined, study, remove, steps);
  }

  async #whenReplaced(
    pod: Pod,
    mark: Mark,
    study: Study,
    steps: Pick<Mark, "by" | "began" | "until">,
  ): Promise<EvictionEnd> {
    const { client, endpoints, settings, now } = this.#dependencies;
    const { namespace = "", uid } = pod.metadata;
    const isOver = now() >= mark.stepBegan + settings.replacement;
    if (!isOver && mark.replicaSet !== undefined && !(await isReplaced(client, namespace, mark.replicaSet)))
      return { later: notSoSoon, why: "another pod is not ready yet" };
    if ("because" in study.plan) return { because: study.plan.because };
    if (endpoints.isLast(study.services, uid, new Set()))
      return isOver ? { because: "last-endpoint" } : { later: soon, why: "another pod is no endpoint yet" };
    return this.#withdraw(pod, mark, study, study.plan.remove, steps);
  }

  async #withdraw(
    pod: Pod,
    mark: Mark | undefined,
    study: Study,
    remove: readonly string[],
    steps: Pick<Mark, "by" | "began" | "until">,
  ): Promise<EvictionEnd> {
    const { client, pods, now } = this.#dependencies;
    for (const budget of losing(study.budgets, pod.metadata.labels ?? {}, remove)) {
      const why = await reserve(client, budget, pod.metadata.name, now());
      if (why !== undefined) return { later: notSoSoon, why };
    }
    await pods.withdraw(pod, remove, { ...steps, stepBegan: now() }, mark);
    return { later: soon, why: "senders are letting go of the pod" };
  }

  async #letGo(
    pod: Pod,
    mark: Mark,
    { services, convergence }: Study,
    gone: AbortSignal,
  ): Promise<EvictionEnd> {
    const { settings, now } = this.#dependencies;
    const { namespace = "", name, uid } = pod.metadata;
    const withdrawn = { pod: { namespace, name, uid }, services, at: mark.stepBegan, convergence };
    if (await isReleased(withdrawn, this.#dependencies, gone))
      return { ending: this.#dependencies.consumers ? "released" : "waited" };
    if (now() >= mark.stepBegan + settings.evictionLimit) return { ending: "limit" };
    return { later: soon, why: "senders are letting go of the pod" };
  }
}
