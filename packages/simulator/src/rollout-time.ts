import type { Outcome } from "./model/outcome.ts";
import type { Run } from "./run.ts";

/** Mean time from the first deletion of a rollout to the end of its last pod, milliseconds. */
export function rolloutTime(outcomes: readonly Outcome[], { world, scenario }: Run): number {
  const { rollout, pod } = scenario;
  const times: number[] = [];
  let first = 0;
  for (const { pods } of world.rollouts) {
    const played = outcomes.slice(first, first + pods);
    const deletedAt = world.deletedAt.subarray(first, first + pods);
    first += pods;
    if (played.length < pods) break;
    // Where a slot waits for its pod to end, deletions were laid out a whole grace period apart: the rest of it is not waited for.
    const unspent = new Map<number, number>();
    const ends = played.map(({ total }, index) => {
      const slot = rollout.kind === "in-place" ? index % rollout.slots : index;
      const early = unspent.get(slot) ?? 0;
      unspent.set(slot, early + pod.grace - total);
      return deletedAt[index]! - early + total;
    });
    times.push(Math.max(...ends) - deletedAt[0]!);
  }
  return times.reduce((sum, time) => sum + time, 0) / Math.max(1, times.length);
}
