import {
  drainDefaults,
  type Learnt,
  lessonText,
  measuredLesson,
  type MeasuredSender,
  priorHypotheses,
} from "@lameduck/drain";
import type { NewReport } from "../report/describe.ts";

/** The entry of the operator's own ConfigMap that holds what the cluster has taught. Those of workloads have a kind before their name. */
export const clusterEntry = "cluster";
/** Lessons of the cluster before new pods are told of them. */
export const fewestLessons = 10;

/**
 * How much of what pods are told is the default prior. The consumers that were measured need not be all who send to a pod: clients that keep
 * connections, or names that they have looked up, are not among them. Without it, one such client lost twenty times as much as by default; with half
 * of it, half as much again; with three quarters, as little.
 */
const defaultShare = 3 / 4;

/** Milliseconds that one lesson stands for: a rollout of a hundred pods says little more than one termination in it. */
const period = 60_000;

interface Slowest {
  readonly senders: readonly MeasuredSender[];
  readonly quicker: number;
  readonly last: number;
}

/** What a pod is told of the cluster. Each hypothesis keeps at least that share of its default weight, whatever consumers have reported. */
export function withDefault(learnt: Learnt): Learnt {
  const sum = learnt.weights.reduce((total, weight) => total + weight, 0);
  const weights = priorHypotheses().map(
    ({ weight }, index) => defaultShare * weight + ((1 - defaultShare) * learnt.weights[index]!) / sum,
  );
  return { ...learnt, weights };
}

/**
 * What measured terminations teach of the whole cluster: one lesson a minute. The slowest termination of each namespace in it is one vote, and the
 * median of these teaches, so that none of three or more decides what the others are told. No pod says anything in it, so that it may go to
 * pods of other namespaces.
 */
export class ClusterLessons {
  #from = 0;
  readonly #slowest = new Map<string, Slowest>();

  /**
   * @param now milliseconds.
   * @param quicker how many consumers let go before all that the report names.
   */
  add(report: NewReport, now: number, quicker = 0): void {
    const senders = sendersOf(report);
    if (senders.length === 0) return;
    if (this.#slowest.size === 0) this.#from = now;
    const { namespace } = report.metadata;
    const last = Math.max(...senders.map(({ at }) => at));
    const known = this.#slowest.get(namespace);
    if (known === undefined || last > known.last) this.#slowest.set(namespace, { senders, quicker, last });
  }

  /** @returns the lesson of a minute that is over, once. */
  take(now: number): string | undefined {
    const votes = [...this.#slowest.values()].sort((a, b) => a.last - b.last);
    // Of two the slower: holds that are too long lose nothing.
    const median = votes[Math.floor(votes.length / 2)];
    if (median === undefined || now - this.#from < period) return undefined;
    this.#slowest.clear();
    return lessonText(measuredLesson(median.senders, drainDefaults.convergence, median.quicker));
  }
}

/**
 * When each consumer had let go. One that was behind when the pod closed or was gone, had not until then. The kubelet's time of the exit is not used:
 * a node's clock may be an hour ahead.
 */
function sendersOf({ consumers, moments }: NewReport): MeasuredSender[] {
  const end = moments.closing ?? moments.gone;
  return consumers.flatMap(({ basis, state, appliedMs }): readonly MeasuredSender[] => {
    // The time to live of a DNS record is not measured.
    if (basis === "time") return [];
    if (appliedMs !== undefined) return [{ at: appliedMs, hasLetGo: true }];
    return state === "behind" && end !== undefined ? [{ at: end, hasLetGo: false }] : [];
  });
}
