import type { NewPod, RemedyResult } from "./model/results.ts";
import { summarise } from "./summary.ts";

/** Time between two merged runs, so that what belongs to one cannot touch the other. */
const gapMs = 1_000;

/**
 * One result of several runs of the same remedy. Later runs are moved behind the former ones in time and their requests renumbered, so
 * that times and ids stay unique.
 */
export function mergeRuns(runs: readonly RemedyResult[], seed: number): RemedyResult {
  const [first, ...others] = runs;
  if (!first) throw new RangeError("there is no run to merge");
  if (others.length === 0) return first;
  const run = runs.filter((one) => one.skipped === undefined);
  if (run.length === 0) return first;
  return summarise(run.reduce(append), seed);
}

function append(former: RemedyResult, later: RemedyResult): RemedyResult {
  const by = endOf(former) + gapMs;
  const ids = former.lostRequests.reduce((most, lost) => Math.max(most, lost.id), -1) + 1;
  const terminations = former.each.length;
  const shift = <T extends { readonly at: number }>(event: T): T => ({ ...event, at: event.at + by });
  const moved = ({ readyAt, ...pod }: NewPod): NewPod => ({
    ...pod,
    createdAt: pod.createdAt + by,
    ...(readyAt === undefined ? {} : { readyAt: readyAt + by }),
  });
  const timeline =
    former.timeline && later.timeline
      ? {
          pods: [...former.timeline.pods, ...later.timeline.pods.map(shift)],
          senders: [...former.timeline.senders, ...later.timeline.senders.map(shift)],
        }
      : undefined;
  const { timeline: _, newPods: __, ...rest } = former;
  return {
    ...rest,
    sent: former.sent + later.sent,
    notSent: former.notSent + later.notSent,
    notSentBecause: sum(former.notSentBecause, later.notSentBecause),
    slow: former.slow + later.slow,
    ...(former.resent === undefined && later.resent === undefined
      ? {}
      : { resent: (former.resent ?? 0) + (later.resent ?? 0) }),
    duration: former.duration + later.duration,
    each: [...former.each, ...later.each.map((one) => ({ ...one, deletedAt: one.deletedAt + by }))],
    lostRequests: [
      ...former.lostRequests,
      ...later.lostRequests.map((lost) => ({
        ...shift(lost),
        id: lost.id + ids,
        ...(lost.termination === undefined ? {} : { termination: lost.termination + terminations }),
      })),
    ],
    ...(former.newPods && later.newPods ? { newPods: [...former.newPods, ...later.newPods.map(moved)] } : {}),
    ...(timeline ? { timeline } : {}),
  };
}

function endOf({ timeline, each, lostRequests, duration }: RemedyResult): number {
  const times = [
    ...(timeline?.pods ?? []).map((event) => event.at),
    ...(timeline?.senders ?? []).map((event) => event.at),
    ...each.map((one) => one.deletedAt + one.total),
    ...lostRequests.map((lost) => lost.at),
  ];
  return times.reduce((most, at) => Math.max(most, at), duration);
}

function sum(
  a: Readonly<Record<string, number>>,
  b: Readonly<Record<string, number>>,
): Record<string, number> {
  const total: Record<string, number> = { ...a };
  for (const [key, value] of Object.entries(b)) total[key] = (total[key] ?? 0) + value;
  return total;
}
