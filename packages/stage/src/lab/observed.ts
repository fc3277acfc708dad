import { setTimeout as delay } from "node:timers/promises";
import type { PodEvent, SenderEvent } from "@lameduck/accounting";
import type { Stage } from "../stage.ts";

/** The events of one run as they come in, and what follows from them while it goes on. */
export class Observed {
  readonly podEvents: PodEvent[] = [];
  readonly senderEvents: SenderEvent[] = [];
  readonly #deleted = new Set<string>();
  readonly #gone = new Set<string>();
  /** Pods that each sender still chooses. */
  readonly #chosen = new Map<string, Set<string>>();

  pod(event: PodEvent): void {
    this.podEvents.push(event);
    if (event.type === "deleted") this.#deleted.add(event.pod);
    if (event.type === "gone") this.#gone.add(event.pod);
  }

  sender(event: SenderEvent): void {
    this.senderEvents.push(event);
    if (event.type !== "added" && event.type !== "converged") return;
    const pods = this.#chosen.get(event.sender) ?? new Set();
    this.#chosen.set(event.sender, pods);
    if (event.type === "added") pods.add(event.pod);
    else pods.delete(event.pod);
  }

  get terminating(): number {
    return [...this.#deleted].filter((pod) => !this.#gone.has(pod)).length;
  }

  /** Whether every one of these senders chooses every one of these pods. */
  allChoose(senders: readonly string[], pods: readonly string[]): boolean {
    return senders.every((sender) => pods.every((pod) => this.#chosen.get(sender)?.has(pod)));
  }

  /** Whether some sender still chooses a pod that was deleted: its requests to it are still to be lost, or not. */
  get stale(): boolean {
    return [...this.#chosen.values()].some((pods) => [...pods].some((pod) => this.#deleted.has(pod)));
  }
}

/** Senders that never let go of a pod, or never take one up, are not waited for longer than this. */
const longestSettlingMs = 60_000;
/** Longer than any request takes, so that no request is still under way. */
const longestRequestMs = 500;
const lookPeriodMs = 50;

/** Waits until every sender chooses every remaining pod. Health-checked senders need several checks for that. */
export async function informed(
  senders: readonly { readonly name: string }[],
  { pods }: Pick<Stage, "pods">,
  observed: Observed,
  signal: AbortSignal,
): Promise<void> {
  const end = Date.now() + longestSettlingMs;
  const all = senders.map(({ name }) => name);
  const live = (): string[] => pods.filter(({ terminating }) => !terminating).map(({ name }) => name);
  while (!observed.allChoose(all, live()) && Date.now() < end)
    await delay(lookPeriodMs, undefined, { signal });
}

/** Requests through senders that have not converged are still lost after the pods have gone: the load goes on until then. */
export async function settled(observed: Observed, signal: AbortSignal): Promise<void> {
  const end = Date.now() + longestSettlingMs;
  while (observed.stale && Date.now() < end) await delay(lookPeriodMs, undefined, { signal });
  await delay(longestRequestMs, undefined, { signal });
}
