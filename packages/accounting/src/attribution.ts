import { withoutUndefined } from "@lameduck/drain/common";
import type { RunRecording } from "./model/document.ts";
import type { LostRequest } from "./model/results.ts";
import type { RequestRecord } from "./model/request.ts";
import { explain, isOutOfReach } from "./causes.ts";
import { failedAt, type Evidence, mayBeOfStall, setOut } from "./evidence/evidence.ts";
import { podLives, type PodLife } from "./evidence/pod-life.ts";
import { runFacts } from "./evidence/run-facts.ts";
import { senderHistories, type SenderHistory } from "./evidence/sender-history.ts";
import { symptomOf } from "./evidence/symptom.ts";
import { lifeByTime, lifeFor, mayChoose } from "./evidence/whereabouts.ts";

/** A lost request with its cause, and the pod's life it belongs to, where there is one. */
export interface Attributed {
  readonly record: RequestRecord;
  readonly life: PodLife | undefined;
  readonly lost: Omit<LostRequest, "termination">;
}

export interface Attribution {
  readonly lives: readonly PodLife[];
  readonly senders: ReadonlyMap<string, SenderHistory>;
  /** All records that went to a pod, warm-up included. */
  readonly recordsOf: ReadonlyMap<PodLife, readonly RequestRecord[]>;
  /** Lost requests after the warm-up, in the order in which they failed. */
  readonly lost: readonly Attributed[];
  /** Requests after the warm-up that failed, and that a stall of the load generator sent late: nothing follows from them. */
  readonly stalled: readonly RequestRecord[];
}

/** Joins every lost request of a recording with the timeline of its pod and its sender. */
export function attribute(recording: RunRecording): Attribution {
  const lives = podLives(recording.podEvents);
  const livesOf = Map.groupBy(lives, (life) => life.pod);
  const senders = senderHistories(recording.senderEvents);
  const recordsOf = new Map<PodLife, RequestRecord[]>();
  for (const record of recording.records) {
    const life = lifeFor(record, livesOf, senders.get(record.sender));
    if (!life) continue;
    const own = recordsOf.get(life);
    if (own) own.push(record);
    else recordsOf.set(life, [record]);
  }
  const run = runFacts(lives, recordsOf);
  const tooNew =
    recording.readyProvesNothing && run.namesPods ? (life: PodLife) => run.firstAnswer(life) : undefined;
  const lost: Attributed[] = [];
  const stalled: RequestRecord[] = [];
  for (const record of recording.records) {
    const symptom = symptomOf(record);
    if (record.intended < recording.countedFrom || symptom === undefined || symptom === "not-sent") continue;
    const sender = senders.get(record.sender);
    const known = { record, symptom, sender, run };
    const evidence = { ...known, ...whereabouts(known, lives, livesOf, tooNew) };
    if (mayBeOfStall(evidence)) stalled.push(record);
    else lost.push({ record, life: evidence.life, lost: lostRequest(evidence) });
  }
  return { lives, senders, recordsOf, stalled, lost: lost.sort((a, b) => a.lost.at - b.lost.at) };
}

function whereabouts(
  known: Omit<Evidence, "life">,
  lives: readonly PodLife[],
  livesOf: ReadonlyMap<string, readonly PodLife[]>,
  tooNew: ((life: PodLife) => number | undefined) | undefined,
): { life: PodLife | undefined; candidates?: number } {
  const { record, symptom, sender } = known;
  if (record.pod !== undefined) return { life: lifeFor(record, livesOf, sender) };
  const ended = lifeByTime(record, symptom, lives, sender, tooNew);
  if (ended) return ended;
  // No pod had ended. One that is being deleted and runs on may still be out of reach.
  const running = lives.filter((life) => mayChoose(sender, life, setOut(record)));
  const fits = running.filter((life) => isOutOfReach({ ...known, life }));
  return fits[0] ? { life: fits[0], candidates: fits.length } : { life: undefined };
}

function lostRequest(evidence: Evidence): Omit<LostRequest, "termination"> {
  const { record, life, candidates } = evidence;
  const { cause, sentence } = explain(evidence);
  // No pod was chosen where there was none to choose, whatever the time suggests or a proxy calls its empty group.
  const none = cause === "C9";
  const inferred = candidates !== undefined && !none ? life?.pod : undefined;
  return withoutUndefined({
    id: record.id,
    at: failedAt(record),
    waited: Math.max(0, failedAt(record) - record.intended),
    pod: none ? undefined : (record.pod ?? inferred),
    podKnownBy: none ? undefined : inferred === undefined ? record.podKnownBy : "time",
    sender: record.sender,
    mode: record.mode,
    outcome: record.outcome,
    cause,
    sentence,
  });
}
