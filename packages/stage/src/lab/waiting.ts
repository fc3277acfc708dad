import { setTimeout as delay } from "node:timers/promises";
import type { Stage } from "../stage.ts";
import type { Observed } from "./observed.ts";

/** Senders that never let go of a pod, or never take one up, are not waited for longer than this. */
const longestSettling = 60_000;
/** Longer than any request takes, so that none is still under way. */
const longestRequest = 500;
const look = 50;

/** Waits until every sender chooses every remaining pod. Health-checked senders need several checks for that. */
export async function informed(
  senders: readonly { readonly name: string }[],
  { pods }: Pick<Stage, "pods">,
  observed: Observed,
  signal: AbortSignal,
): Promise<void> {
  const end = Date.now() + longestSettling;
  const all = senders.map(({ name }) => name);
  const live = (): string[] => pods.filter(({ terminating }) => !terminating).map(({ name }) => name);
  while (!observed.allChoose(all, live()) && Date.now() < end) await delay(look, undefined, { signal });
}

/** Requests through senders that have not converged are still lost after the pods have gone: the load goes on until then. */
export async function settled(observed: Observed, signal: AbortSignal): Promise<void> {
  const end = Date.now() + longestSettling;
  while (observed.stale && Date.now() < end) await delay(look, undefined, { signal });
  await delay(longestRequest, undefined, { signal });
}
