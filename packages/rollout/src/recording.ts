import type { RunClock, RequestRecord, RunRecording, PodEvent, SenderEvent } from "@lameduck/accounting";
import { isReady, type Pod } from "@lameduck/kube";
import type { Observation } from "./following/observation.ts";
import type { PodFacts } from "./following/pod-facts.ts";
import { appContainers, podTimeline, type Hints } from "./following/pod-timeline.ts";
import { reasonsOf } from "./progress.ts";
import { joinPods, type JoinCounts } from "./join.ts";
import type { Target } from "./target.ts";

interface RecordingParts {
  readonly clock: RunClock;
  readonly target: Target;
  readonly why: string;
  readonly observation: Observation;
  readonly records: readonly RequestRecord[];
  readonly missing: number;
  readonly addresses: ReadonlyMap<string, string>;
  readonly countedFrom: number;
  readonly ended: number;
}

/** Puts requests of the load and events of the cluster on one clock, and adds its pod to each request where it is known. */
export function record(parts: RecordingParts): { recording: RunRecording; joined: JoinCounts } {
  const { clock, observation, target, countedFrom } = parts;
  const epoch = clock.fromEpoch(0);
  const time = (at: number): number => at + epoch;
  const { facts } = observation.pods;
  const names = new Set(facts.map(({ name }) => name));
  const { records, counts } = joinPods(parts.records, {
    podAt: (address, at) => observation.pods.podAt(address, at - epoch),
    ownerOf: (address, at) => observation.pods.ownerOf(address, at - epoch),
    isPod: (name) => names.has(name),
    addresses: parts.addresses,
  });
  const byPod = Map.groupBy(records, ({ pod }) => pod);
  const nobody = foundNobody(records);
  const podEvents = facts.flatMap((pod): PodEvent[] =>
    podTimeline(pod, {
      spec: target.podSpec,
      why: parts.why,
      time,
      hints: { ...hintsOf(pod, byPod.get(pod.name) ?? [], time), nobody },
    }),
  );
  // A sender to a pod's own address does not read the endpoints.
  const direct = new Set(
    records.flatMap(({ sender, podKnownBy }) => (podKnownBy === "address" ? sender : [])),
  );
  const senders = [...new Set(records.map(({ sender }) => sender))].filter((sender) => !direct.has(sender));
  const counted = records.filter(({ intended }) => intended >= countedFrom);
  return {
    joined: counts,
    recording: {
      remedy: `${target.reference.kind}/${target.reference.name}`,
      records,
      podEvents: podEvents.sort((a, b) => a.at - b.at),
      senderEvents: senders.flatMap((sender) => emptiness(sender, observation, time)),
      countedFrom,
      scheduled: counted.length + parts.missing,
      ended: parts.ended,
      waiting: waitingFor(observation.pods.live),
      readyProvesNothing: appContainers(target.podSpec).some(
        ({ readinessProbe }) => readinessProbe === undefined,
      ),
    },
  };
}

/** By pod: why it is not ready. */
function waitingFor(pods: readonly Pod[]): ReadonlyMap<string, string> {
  return new Map(
    pods.flatMap((pod) => {
      const reasons = isReady(pod) ? [] : reasonsOf(pod);
      return reasons.length === 0 ? [] : [[pod.metadata.name, reasons.join("; ")] as const];
    }),
  );
}

/** A route has no target while no EndpointSlice has an endpoint. When a route lets go of one pod cannot be seen from outside. */
function emptiness(
  sender: string,
  { endpoints }: Observation,
  time: (epoch: number) => number,
): SenderEvent[] {
  return endpoints.empty.flatMap(({ from, to }) => [
    { at: time(from), sender, type: "empty" as const },
    ...(to === undefined ? [] : [{ at: time(to), sender, type: "filled" as const }]),
  ]);
}

function foundNobody(records: readonly RequestRecord[]): number[] {
  return records
    .filter(({ outcome, pod }) => outcome === "unreachable" && pod === undefined)
    .map(({ intended }) => intended)
    .sort((a, b) => a - b);
}

/** A pod of the same name may come later. Only what fell into this pod's life is evidence about it. */
function hintsOf(
  { created, gone }: PodFacts,
  records: readonly RequestRecord[],
  time: (epoch: number) => number,
): Hints {
  const from = time(created.from);
  const to = gone === undefined ? Infinity : time(gone.to);
  const ends = (outcomes: readonly RequestRecord["outcome"][], until: number): number[] =>
    records
      .filter(({ outcome }) => outcomes.includes(outcome))
      .flatMap(({ finished = -Infinity }) => (finished >= from && finished <= until ? finished : []))
      .sort((a, b) => a - b);
  const lastAnswer = ends(["ok"], to).at(-1);
  return {
    ...(lastAnswer === undefined ? {} : { lastAnswer }),
    cuts: ends(["reset-before-response", "truncated"], to + 1_000),
  };
}
