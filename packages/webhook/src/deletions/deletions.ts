import { setTimeout as delay } from "node:timers/promises";
import { retry, type Pod, type KubernetesClient } from "@lameduck/kube";
import type { DeletionCall } from "./deletion-call.ts";
import { recount } from "./budget.ts";
import { reasonNotToHoldPod, type NotHeldReason } from "./not-held.ts";
import { markOf, type Mark } from "./mark.ts";
import { budgetsLosing, type HoldFacts, type HeldPods } from "./pods.ts";
import { untilReleased, type Ending } from "./released.ts";
import type { ReleaseSource } from "./consumers.ts";
import type { EndpointView } from "./endpoints.ts";
import type { HoldSettings } from "./settings.ts";

/** What holds and surges work with. */
export interface CommonDependencies {
  readonly client: KubernetesClient;
  readonly pods: HeldPods;
  readonly settings: HoldSettings;
  /** Milliseconds since 1970 by the API server's clock: marks of one replica are read by the others. */
  readonly now: () => number;
  readonly onRestored: () => void;
  readonly onProblem: (part: string, error: unknown) => void;
}

/** What deletions and evictions that are held work with besides. */
export interface HoldDependencies {
  readonly endpoints: EndpointView;
  /** None: the time that consumers may take is waited for. */
  readonly consumers: ReleaseSource | undefined;
}

export type Dependencies = CommonDependencies & HoldDependencies;

/** How the hold of a deletion ended. */
export type HoldEnd = { readonly ending: Ending } | { readonly because: NotHeldReason };

interface Hold {
  readonly end: Promise<HoldEnd>;
  readonly abort: AbortController;
  isOver: boolean;
  callers: number;
}

/** Its own deletions need no replacement: it has one, or wants none. */
const replicaSetController = "system:serviceaccount:kube-system:replicaset-controller";
/** The share of the limit that may go into waiting for a replacement. */
const replacementShare = 0.6;
/** By then a deletion that was allowed, or whose caller has left, must be seen. */
const cleanupDelayMs = 5_000;
/** So much longer a mark stands before another replica takes it away. */
const markMarginMs = 60_000;

/** Holds deletions while their API calls wait. */
export class Deletions {
  readonly #dependencies: Dependencies;
  /** By uid; those that are over stay until it is certain that the pod is deleted. */
  readonly #holds = new Map<string, Hold>();
  readonly #cleanups = new Set<Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Deletions that wait at present. */
  get size(): number {
    return [...this.#holds.values()].filter(({ isOver }) => !isOver).length;
  }

  /** Resolves when the deletion may happen. It is always allowed. */
  async hold(call: DeletionCall, gone: AbortSignal): Promise<HoldEnd> {
    const { pod } = call;
    const because = pod ? reasonNotToHoldPod(pod) : "gone";
    if (!pod || because) return { because: because ?? "gone" };
    const { uid } = pod.metadata;
    let hold = this.#holds.get(uid);
    if (!hold) {
      if (this.size >= this.#dependencies.settings.mostAtOnce) return { because: "too-many" };
      hold = this.#begin(pod, call);
    }
    // The second call of one deletion, or another's: both wait for the same.
    hold.callers++;
    const leaving = new Promise<HoldEnd>((resolve) => {
      gone.addEventListener("abort", () => resolve({ because: "gone" }), { once: true });
    });
    const end = await Promise.race([hold.end, leaving]);
    hold.callers--;
    if (gone.aborted && hold.callers === 0 && !hold.isOver) hold.abort.abort();
    return end;
  }

  /** Ends what waits, and sees to it that what was not deleted is as it was. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const { abort } of this.#holds.values()) abort.abort();
    await Promise.all(this.#cleanups);
  }

  #begin(pod: Pod, call: DeletionCall): Hold {
    const abort = new AbortController();
    const end = this.#run(pod, call, abort.signal).catch((error: unknown): HoldEnd => {
      this.#dependencies.onProblem("deletions", error);
      return { because: "fault" };
    });
    const hold: Hold = { end, abort, isOver: false, callers: 0 };
    this.#holds.set(pod.metadata.uid, hold);
    const caring = end
      .then(() => this.#restoreUnlessDeleted(pod, hold))
      .finally(() => this.#cleanups.delete(caring));
    this.#cleanups.add(caring);
    return hold;
  }

  async #run(pod: Pod, call: DeletionCall, abort: AbortSignal): Promise<HoldEnd> {
    const dependencies = this.#dependencies;
    const mark = markOf(pod);
    const now = dependencies.now();
    // Another replica wrote it, by the same clock but for a second, or anybody who may change the pod.
    const passed = (since: number): number => Math.min(since, now);
    const began = mark?.by === "delete" ? passed(mark.began) : now;
    const late = AbortSignal.timeout(Math.max(0, began + dependencies.settings.limit - now));
    const end = AbortSignal.any([abort, late]);
    if (!dependencies.endpoints.isKnown) return { because: "blind" };
    const facts = await dependencies.pods.factsFor(pod, mark);
    if (!facts) return { because: "blind" };
    const steps = { by: "delete", began, until: now + dependencies.settings.limit + markMarginMs } as const;
    let at = passed(mark?.stepBegan ?? now);
    if (mark?.step !== "withdrawn") {
      if ("because" in facts.plan) return { because: facts.plan.because };
      const ready = await this.#withReplacement(pod, mark, call, facts, steps, end);
      if (!ready) return { because: "last-endpoint" };
      at = dependencies.now();
      await dependencies.pods.withdraw(ready, facts.plan.remove, { ...steps, stepBegan: at }, markOf(ready));
      for (const budget of budgetsLosing(facts.budgets, ready.metadata.labels ?? {}, facts.plan.remove))
        await recount(dependencies.client, budget, pod.metadata.name, at).catch((error: unknown) => {
          // Senders still send to the pod: the hold goes on.
          dependencies.onProblem("deletions", error);
        });
    }
    const { namespace = "", name, uid } = pod.metadata;
    const { services, convergence } = facts;
    return {
      ending: await untilReleased(
        { pod: { namespace, name, uid }, services, at, convergence },
        dependencies,
        end,
      ),
    };
  }

  /** The pod, once another is a ready endpoint beside it: made by its owner where there is none. @returns none where nothing comes. */
  async #withReplacement(
    pod: Pod,
    mark: Mark | undefined,
    call: DeletionCall,
    { services, replaceableBy }: HoldFacts,
    steps: Pick<Mark, "by" | "began" | "until">,
    end: AbortSignal,
  ): Promise<Pod | undefined> {
    const { endpoints, pods, settings, now } = this.#dependencies;
    const { uid } = pod.metadata;
    const isLast = (): boolean => endpoints.isLastReady(services, uid, new Set(this.#holds.keys()));
    if (!isLast()) return pod;
    const isComing =
      mark?.step === "replacing" || (replaceableBy !== undefined && call.user !== replicaSetController);
    if (!isComing) return undefined;
    const stepBegan = now();
    const left =
      mark?.step === "replacing"
        ? pod
        : await pods.replace(pod, {
            ...steps,
            stepBegan,
            ...(replaceableBy === undefined ? {} : { replicaSet: replaceableBy }),
          });
    const enough = AbortSignal.any([end, AbortSignal.timeout(settings.limit * replacementShare)]);
    while (isLast()) {
      if (enough.aborted) return undefined;
      await endpoints.changed(enough);
    }
    return left;
  }

  /** Whatever has become of the call: where the pod is not being deleted it is as it was before. */
  async #restoreUnlessDeleted(pod: Pod, hold: Hold): Promise<void> {
    hold.isOver = true;
    const { namespace = "", name, uid } = pod.metadata;
    // A caller that has left comes again, and finds a new hold.
    if (hold.abort.signal.aborted) this.#holds.delete(uid);
    await delay(cleanupDelayMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
    if (this.#holds.get(uid) === hold) this.#holds.delete(uid);
    if (this.#holds.has(uid)) return;
    const { pods, onRestored, onProblem } = this.#dependencies;
    try {
      await retry(
        async () => {
          const found = await pods.get(namespace, name);
          if (found?.metadata.uid === uid && (await pods.restore(found))) onRestored();
        },
        { timeoutMs: 60_000, signal: this.#stopping.signal.aborted ? undefined : this.#stopping.signal },
      );
    } catch (error) {
      if (!this.#stopping.signal.aborted) onProblem("deletions", error);
    }
  }
}
