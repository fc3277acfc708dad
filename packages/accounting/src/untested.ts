import type { RunRecording } from "./model/document.ts";
import type { RequestRecord } from "./model/request.ts";
import type { Attribution } from "./attribution.ts";
import { failedAt, setOut } from "./evidence/evidence.ts";
import { lastExit, stoppedAccepting, type PodLife } from "./evidence/pod-life.ts";
import { choiceAt, type SenderHistory } from "./evidence/sender-history.ts";
import { ascending, countBelow } from "./statistics.ts";
import { symptomOf } from "./evidence/symptom.ts";
import { toleranceMs } from "./evidence/tolerance.ts";

/** Load this long before the pod stopped, or after it was gone, still counts as load through its end. */
const aroundMs = 1_000;

/**
 * Why a termination without a loss proves nothing, or undefined where it was tested: some request went to its pod, and a sender that chose the
 * pod was sending when the pod stopped accepting. For a sender whose answers do not name their pods it is unknown whether one went to it.
 */
export function untestedReasons(
  { records }: RunRecording,
  { senders, recordsOf, stalled }: Attribution,
): (life: PodLife) => string | undefined {
  const own = records.filter(({ elsewhere }) => !elsewhere);
  const moments = momentsBySender(own);
  const naming = namingSenders(own);
  return (life) => {
    const deletedAt = life.deleted!.at;
    const stop = stoppedAccepting(life)?.at;
    const end = life.gone ?? lastExit(life);
    if (stop === undefined || end === undefined) return "it had not ended when the run did";
    // Nothing was routed to it; where no answer names a pod, load at that time says nothing.
    if (wasNeverReady(life) && !recordsOf.has(life)) return "it was never ready, so never in service";
    const loading = [...moments].filter(
      ([sender, times]) =>
        chose(senders.get(sender), life.pod, deletedAt) && hasWithin(times, stop - aroundMs, end + aroundMs),
    );
    if (loading.length === 0)
      return own.length < records.length
        ? "the answers name pods that are not the target's"
        : "no request was sent while it ended";
    const isHis = (pod: string | undefined): boolean => pod === undefined || pod === life.pod;
    if (stalled.some((one) => isHis(one.pod) && failedAt(one) >= deletedAt && setOut(one) <= end + aroundMs))
      return "the load generator stalled while it ended";
    const named = loading.every(([sender]) => naming.has(sender));
    return named && !recordsOf.has(life) ? "no request went to it" : undefined;
  };
}

/** Known only of a pod that was seen from its creation. */
function wasNeverReady({ events, ready }: PodLife): boolean {
  return ready === undefined && events.some(({ type }) => type === "created");
}

/** Senders whose answers name their pods, all but a few: a proxy may answer some requests by itself. */
function namingSenders(records: readonly RequestRecord[]): Set<string> {
  const answers = Map.groupBy(
    records.filter(({ outcome }) => outcome === "ok"),
    ({ sender }) => sender,
  );
  const isNaming = (of: readonly RequestRecord[]): boolean =>
    of.filter(({ pod }) => pod !== undefined).length > of.length / 2;
  return new Set([...answers].filter(([, of]) => isNaming(of)).map(([sender]) => sender));
}

/** When each sender had something under way: requests set out, and answered or failed. In order. */
function momentsBySender(records: readonly RequestRecord[]): Map<string, number[]> {
  const sent = records.filter((record) => symptomOf(record) !== "not-sent");
  const momentsOf = (own: readonly RequestRecord[]): number[] =>
    own.flatMap((record) => [setOut(record), failedAt(record)]).sort(ascending);
  const bySender = Map.groupBy(sent, ({ sender }) => sender);
  return new Map(Array.from(bySender, ([sender, own]) => [sender, momentsOf(own)]));
}

/** A sender that does not report its choices may have chosen any pod. It may have let go before its report of the deletion was read here. */
function chose(sender: SenderHistory | undefined, pod: string, at: number): boolean {
  if (!sender || sender.choices.size === 0) return true;
  const choice = choiceAt(sender, pod, at);
  return choice !== undefined && (choice.chosen || at - choice.at <= toleranceMs.news);
}

function hasWithin(sorted: readonly number[], from: number, to: number): boolean {
  const first = sorted[countBelow(sorted, from)];
  return first !== undefined && first <= to;
}
