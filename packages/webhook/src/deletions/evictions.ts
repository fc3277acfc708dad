import type { Pod } from "@lameduck/kube";
import type { DeletionCall } from "./deletion-call.ts";
import { reserve } from "./budget.ts";
import { isReplaced } from "./facts.ts";
import { reasonNotToHoldPod, type NotHeldReason } from "./not-held.ts";
import { isOver, markOf, type Mark } from "./mark.ts";
import { budgetsLosing, type HoldFacts } from "./pods.ts";
import { releaseNow, type Ending } from "./released.ts";
import type { Dependencies } from "./deletions.ts";

/** `later`: seconds after which the caller should ask again, and why. */
export type EvictionEnd =
  | { readonly ending: Ending | "replaced" }
  | { readonly because: NotHeldReason }
  | { readonly later: number; readonly why: string };

/** kubectl drain asks again after 5 s whatever we say; others as we say. */
const retrySoonSeconds = 2;
export const retryLaterSeconds = 5;
/** A caller that has not come back by then has given up. */
export const retryTimeoutMs = 60_000;

/**
 * Puts evictions off, as a disruption budget does: first another pod is made, then this one is withdrawn and let go of by everybody, then
 * it is evicted. No call waits; what has been done stands in the pod, so that any replica goes on with it.
 */
export class Evictions {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  async decide({ namespace, name, graceSeconds }: DeletionCall, gone: AbortSignal): Promise<EvictionEnd> {
    const { pods, endpoints, settings, now, onProblem } = this.#dependencies;
    try {
      const pod = await pods.get(namespace, name);
      const because = pod ? reasonNotToHoldPod(pod) : "gone";
      if (!pod || because) return { because: because ?? "gone" };
      if (graceSeconds !== undefined && graceSeconds <= 1) return { because: "at-once" };
      if (!endpoints.isKnown) return { because: "blind" };
      const mark = markOf(pod);
      const facts = await pods.factsFor(pod, mark);
      if (!facts) return { because: "blind" };
      if (mark?.step === "withdrawn") return await this.#checkRelease(pod, mark, facts, gone);
      if ("because" in facts.plan) return { because: facts.plan.because };
      // The API server refuses these by itself.
      if (facts.budgets.length > 1) return { because: "fault" };
      const steps = {
        by: "evict",
        began: mark?.began ?? now(),
        until: now() + settings.replacement + settings.evictionLimit + retryTimeoutMs,
      } as const;
      return mark
        ? await this.#whenReplaced(pod, mark, facts, steps)
        : await this.#begin(pod, facts, facts.plan.remove, steps);
    } catch (error) {
      onProblem("evictions", error);
      return { because: "fault" };
    }
  }

  async #begin(
    pod: Pod,
    facts: HoldFacts,
    remove: readonly string[],
    steps: Pick<Mark, "by" | "began" | "until">,
  ): Promise<EvictionEnd> {
    const { replaceableBy: replicaSet, services } = facts;
    const { pods, endpoints, now } = this.#dependencies;
    if (replicaSet !== undefined) {
      await pods.replace(pod, { ...steps, stepBegan: now(), replicaSet });
      return { later: retryLaterSeconds, why: "another pod is being started first" };
    }
    if (endpoints.isLastReady(services, pod.metadata.uid, new Set())) return { because: "last-endpoint" };
    return this.#withdraw(pod, undefined, facts, remove, steps);
  }

  async #whenReplaced(
    pod: Pod,
    mark: Mark,
    facts: HoldFacts,
    steps: Pick<Mark, "by" | "began" | "until">,
  ): Promise<EvictionEnd> {
    const { client, endpoints, settings, now } = this.#dependencies;
    const { namespace = "", uid } = pod.metadata;
    const isLate = isOver(mark.stepBegan, settings.replacement, now());
    if (!isLate && mark.replicaSet !== undefined && !(await isReplaced(client, namespace, mark.replicaSet)))
      return { later: retryLaterSeconds, why: "another pod is not ready yet" };
    if ("because" in facts.plan) return { because: facts.plan.because };
    if (endpoints.isLastReady(facts.services, uid, new Set()))
      return isLate
        ? { because: "last-endpoint" }
        : { later: retrySoonSeconds, why: "another pod is no endpoint yet" };
    return this.#withdraw(pod, mark, facts, facts.plan.remove, steps);
  }

  async #withdraw(
    pod: Pod,
    mark: Mark | undefined,
    facts: HoldFacts,
    remove: readonly string[],
    steps: Pick<Mark, "by" | "began" | "until">,
  ): Promise<EvictionEnd> {
    const { client, pods, now } = this.#dependencies;
    for (const budget of budgetsLosing(facts.budgets, pod.metadata.labels ?? {}, remove)) {
      const why = await reserve(client, budget, pod.metadata.name, now());
      if (why !== undefined) return { later: retryLaterSeconds, why };
    }
    await pods.withdraw(pod, remove, { ...steps, stepBegan: now() }, mark);
    return { later: retrySoonSeconds, why: "senders still send to the pod" };
  }

  async #checkRelease(
    pod: Pod,
    mark: Mark,
    { services, convergence }: HoldFacts,
    gone: AbortSignal,
  ): Promise<EvictionEnd> {
    const { settings, now } = this.#dependencies;
    const { namespace = "", name, uid } = pod.metadata;
    const withdrawn = { pod: { namespace, name, uid }, services, at: mark.stepBegan, convergence };
    const ending = await releaseNow(withdrawn, this.#dependencies, gone);
    if (ending) return { ending };
    if (isOver(mark.stepBegan, settings.evictionLimit, now())) return { ending: "limit" };
    return { later: retrySoonSeconds, why: "senders still send to the pod" };
  }
}
