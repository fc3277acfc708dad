import type { RunRecording } from "./model/document.ts";
import type { LostRequest, RemedyResult } from "./model/results.ts";
import type { RequestRecord } from "./model/request.ts";
import { attribute } from "./attribution.ts";
import { failedAt } from "./evidence/evidence.ts";
import { newPods } from "./starts.ts";
import { withoutSteady } from "./steady.ts";
import { summarise } from "./summary.ts";
import { ascending, quantile } from "./statistics.ts";
import { symptomOf } from "./evidence/symptom.ts";
import { chargedTo, tally, terminated, termination } from "./terminations.ts";
import { untestedReasons } from "./untested.ts";

interface AccountMeta {
  /** One sentence: what was done. */
  readonly description: string;
  /** Seed of the bootstrap. */
  readonly seed: number;
  /** Keep the raw timelines for pictures. Default: true. */
  readonly timeline?: boolean;
}

/** A caller with this time-out would have given up. */
const callerTimeoutMs = 1_000;

/** Explains every lost request of a run and counts per termination. Pure: the same recording and seed give the same result. */
export function account(recording: RunRecording, meta: AccountMeta): RemedyResult {
  const attribution = attribute(recording);
  const counted = recording.records.filter((record) => record.intended >= recording.countedFrom);
  const { stalled } = attribution;
  const notSent = counted.filter((record) => symptomOf(record) === "not-sent");
  const missing = Math.max(0, recording.scheduled - counted.length);
  const lives = terminated(attribution.lives, recording.countedFrom);
  const lostRequests = withoutSteady(recording, attribution).map((one): LostRequest => {
    const index = chargedTo(one, lives, recording.ended);
    return index === undefined ? one.lost : { ...one.lost, termination: index };
  });
  const causesOf = Map.groupBy(lostRequests, (lost) => lost.termination);
  const untested = untestedReasons(recording, attribution);
  const each = lives.map((life, index) => {
    const causes = (causesOf.get(index) ?? []).map((lost) => lost.cause);
    return termination(life, attribution, causes, recording, untested(life));
  });
  return summarise(
    {
      remedy: recording.remedy,
      description: meta.description,
      sent: counted.length - notSent.length - stalled.length,
      notSent: notSent.length + stalled.length + missing,
      notSentBecause: {
        ...tally(notSent.map((record) => record.error ?? "skipped")),
        ...(stalled.length > 0 ? { STALLED: stalled.length } : {}),
        ...(missing > 0 ? { missing } : {}),
      },
      slow: slow(counted),
      resent: counted.filter(({ outcome, retries = 0 }) => outcome === "ok" && retries > 0).length,
      duration: Math.max(0, recording.ended - recording.countedFrom),
      each,
      lostRequests,
      newPods: newPods(recording, attribution),
      ...(meta.timeline === false
        ? {}
        : { timeline: { pods: recording.podEvents, senders: recording.senderEvents } }),
    },
    meta.seed,
  );
}

/** Answered, but more than a second later than the app itself takes for that kind of request. */
function slow(counted: readonly RequestRecord[]): number {
  const answered = counted.filter((record) => record.outcome === "ok" && record.late === undefined);
  let slow = 0;
  for (const [kind, records] of Map.groupBy(answered, (record) => record.kind)) {
    const latencies = records.map((record) => failedAt(record) - record.intended).sort(ascending);
    const ordinary = kind === "quick" ? 0 : quantile(latencies, 0.5);
    slow += latencies.filter((latency) => latency > ordinary + callerTimeoutMs).length;
  }
  return slow;
}
