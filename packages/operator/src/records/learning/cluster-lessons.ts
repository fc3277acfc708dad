import { drainDefaults, lessonText, measuredLesson, type MeasuredSender } from "@lameduck/drain";
import type { NewReport } from "../report/describe.ts";

/** The entry of the operator's own ConfigMap that holds what the cluster has taught. Those of workloads have a kind before their name. */
export const clusterEntry = "cluster";
/** Lessons of the cluster before new pods are told of them. */
export const fewestLessons = 10;

/** Milliseconds that one lesson stands for: a rollout of a hundred pods says little more than one termination in it. */
const period = 60_000;

interface Slowest {
  readonly from: number;
  readonly senders: readonly MeasuredSender[];
  readonly last: number;
}

/**
 * What measured terminations teach of the whole cluster: one lesson a minute, of the termination in it whose consumers took longest. No pod says
 * anything in it, so that it may go to pods of other namespaces.
 */
export class ClusterLessons {
  #slowest: Slowest | undefined;

  /** @param now milliseconds. */
  add(report: NewReport, now: number): void {
    const senders = sendersOf(report);
    if (senders.length === 0) return;
    const last = Math.max(...senders.map(({ at }) => at));
    if (this.#slowest === undefined) this.#slowest = { from: now, senders, last };
    else if (last > this.#slowest.last) this.#slowest = { ...this.#slowest, senders, last };
  }

  /** @returns the lesson of a minute that is over, once. */
  take(now: number): string | undefined {
    const slowest = this.#slowest;
    if (slowest === undefined || now - slowest.from < period) return undefined;
    this.#slowest = undefined;
    return lessonText(measuredLesson(slowest.senders, drainDefaults.convergence));
  }
}

/** When each consumer had let go. One that was behind when the pod closed or ended, had not until then. */
function sendersOf({ consumers, moments }: NewReport): MeasuredSender[] {
  const end = moments.closing ?? moments.exited ?? moments.gone;
  return consumers.flatMap(({ basis, state, appliedMs }): readonly MeasuredSender[] => {
    // The time to live of a DNS record is not measured.
    if (basis === "time") return [];
    if (appliedMs !== undefined) return [{ at: appliedMs, hasLetGo: true }];
    return state === "behind" && end !== undefined ? [{ at: end, hasLetGo: false }] : [];
  });
}
