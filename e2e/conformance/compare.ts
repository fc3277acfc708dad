import type { Observation } from "./recording.ts";

export interface Difference {
  readonly what: string;
  readonly real: number | string | undefined;
  readonly lab: number | string | undefined;
}

/** Of these both time and occurrence are compared; probes come in at their own rhythm and are compared by count. */
const compared = new Set(["signal", "hook-begun", "hook-ended", "exiting", "exited"]);

/**
 * Where the lab does something else than the real kubelet did, or more than `tolerance` milliseconds earlier or later.
 * Both machines are real and shared, so that times agree only roughly; order is judged by the times themselves.
 */
export function comparePods(
  real: readonly Observation[],
  lab: readonly Observation[],
  tolerance: number,
): Difference[] {
  const unasked = endedUnasked(real);
  const times = [timeline(real, unasked), timeline(lab, unasked)] as const;
  const names = new Set([...times[0].keys(), ...times[1].keys()]);
  const differences: Difference[] = [];
  for (const what of [...names].sort()) {
    const [one, other] = [times[0].get(what), times[1].get(what)];
    if (one === undefined || other === undefined || Math.abs(one - other) > tolerance)
      differences.push({ what, real: one, lab: other });
  }
  return [...differences, ...compareProbes(real, lab)];
}

/**
 * "container event detail #occurrence" to its time, from the deletion on. A container that ends unasked does so some time after its
 * start, whenever the deletion came: that time is compared.
 */
function timeline(observations: readonly Observation[], unasked: ReadonlySet<string>): Map<string, number> {
  const times = new Map<string, number>();
  const counts = new Map<string, number>();
  const started = new Map<string, number>();
  for (const one of observations) {
    if (!("container" in one)) continue;
    if (one.event === "started" && unasked.has(one.container)) started.set(one.container, one.at);
    if (one.at < 0 || !compared.has(one.event)) continue;
    const detail = "code" in one ? ` ${one.code}` : "detail" in one && one.detail ? ` ${one.detail}` : "";
    const name = `${one.container} ${one.event}${detail}`;
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    const ends = one.event === "exiting" || one.event === "exited";
    times.set(`${name} #${count}`, ends ? one.at - (started.get(one.container) ?? 0) : one.at);
  }
  return times;
}

/** The containers that ended by themselves, without a signal. */
function endedUnasked(observations: readonly Observation[]): Set<string> {
  const those = (event: string): Set<string> =>
    new Set(
      observations.flatMap((one) => ("container" in one && one.event === event ? [one.container] : [])),
    );
  const signalled = those("signal");
  return new Set([...those("exiting")].filter((container) => !signalled.has(container)));
}

/** A probe each second may come once more or less, but not go on here and stop there. */
function compareProbes(real: readonly Observation[], lab: readonly Observation[]): Difference[] {
  const [one, other] = [probeCounts(real), probeCounts(lab)];
  return [...new Set([...one.keys(), ...other.keys()])].flatMap((what) => {
    const [a, b] = [one.get(what) ?? 0, other.get(what) ?? 0];
    return Math.abs(a - b) > 1 ? [{ what: `${what}, times`, real: a, lab: b }] : [];
  });
}

function probeCounts(observations: readonly Observation[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const one of observations)
    if (one.by === "container" && one.at >= 0 && (one.event === "answered" || one.event === "refused")) {
      const what = `${one.container} ${one.event} ${one.detail}`;
      counts.set(what, (counts.get(what) ?? 0) + 1);
    }
  return counts;
}

/** The bounds that a rollout kept, and how it began: what a strategy promises, whatever the pods' own speed. */
export interface RolloutShape {
  readonly mostPods: number;
  readonly leastAvailable: number;
  readonly createdBeforeAnyWasReady: number;
  readonly deletedBeforeAnyWasReady: number;
  readonly created: number;
  readonly deleted: number;
}

export function shapeOf(observations: readonly Observation[], replicas: number): RolloutShape {
  const events = observations.filter((one) => one.by === "rollout");
  const ready = new Set(Array.from({ length: replicas }, (_, index) => index + 1));
  let [pods, mostPods, leastAvailable] = [replicas, replicas, replicas];
  for (const { event, pod } of events) {
    if (event === "created") pods++;
    if (event === "ready") ready.add(pod);
    if (event === "deleted") {
      pods--;
      ready.delete(pod);
    }
    mostPods = Math.max(mostPods, pods);
    leastAvailable = Math.min(leastAvailable, ready.size);
  }
  const firstReady = events.findIndex(({ event }) => event === "ready");
  const count = (event: string, among: typeof events): number =>
    among.filter((one) => one.event === event).length;
  const before = events.slice(0, firstReady);
  return {
    mostPods,
    leastAvailable,
    createdBeforeAnyWasReady: count("created", before),
    deletedBeforeAnyWasReady: count("deleted", before),
    created: count("created", events),
    deleted: count("deleted", events),
  };
}
