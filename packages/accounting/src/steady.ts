import type { RequestRecord } from "./model/request.ts";
import type { Cause } from "./model/cause.ts";
import type { RunRecording } from "./model/document.ts";
import type { Attributed, Attribution } from "./attribution.ts";
import { failedAt, setOut } from "./evidence/evidence.ts";
import type { PodLife } from "./evidence/pod-life.ts";
import { symptomOf } from "./evidence/symptom.ts";
import { toleranceMs } from "./evidence/tolerance.ts";
import { seen } from "./phrases.ts";
import { binomialTail } from "./statistics.ts";
import { count, whole } from "./words.ts";

/** Fewer failures before the first deletion are no rate to compare with. */
const enough = 3;
/** An excess that chance gives less often than this is not taken for chance. */
const significance = 0.01;

/** When a request was under way: before anything was rolled, at a pod that neither started nor ended, or at another. */
type Span = "before" | "calm" | "touched";
type Counts = Record<Span, number>;

interface Share {
  readonly failed: number;
  readonly of: number;
}

/**
 * Tells failures that go on at a steady rate from those of terminations. The measure is what failed in the same way before anything was rolled,
 * warm-up included. Failures at pods that neither start nor end are steady where they are not more frequent than that; failures at the
 * others, where they are not more frequent than both together. A single one among a significant excess cannot be told apart, and stays lost.
 */
export function withoutSteady(recording: RunRecording, attribution: Attribution): readonly Attributed[] {
  const { lost } = attribution;
  const first = firstTrouble(recording, attribution.lives);
  const failed = failures(recording, attribution, first);
  if (failed.size === 0) return lost;
  const all = totals(recording, attribution, first);
  return lost.map((one) => {
    const { record, life } = one;
    const span = spanOf(record, record.pod === undefined ? undefined : life, first);
    const counts = failed.get(kindOfFailure(record));
    const of = all.get(record.kind);
    if (!counts || !of) return one;
    const judged = judge(span, one.lost.cause, counts, of);
    return judged === undefined ? one : { ...one, lost: { ...one.lost, ...judgedLoss(one, judged) } };
  });
}

type Judged =
  | { readonly steady: true; readonly before: Share; readonly since: Share }
  /** What is to be added to the sentence. */
  | { readonly steady: false; readonly words: string };

function judge(span: Span, cause: Cause, failed: Counts, of: Counts): Judged | undefined {
  const share = (...which: Span[]): Share => ({
    failed: which.reduce((sum, one) => sum + failed[one], 0),
    of: which.reduce((sum, one) => sum + of[one], 0),
  });
  const before = share("before");
  if (before.failed < enough) {
    // Where something else explains it, a doubt needs a reason.
    const isDoubtful = span === "calm" && (cause === "unknown" || before.failed > 0);
    return isDoubtful ? { steady: false, words: tooFew(before) } : undefined;
  }
  // A warm-up in which the program itself was still warming up is no measure.
  if (exceeds(before, share("calm")) || exceeds(before, share("calm", "touched"))) return undefined;
  const isCalmSteady = !exceeds(share("calm"), before);
  const measure = isCalmSteady ? share("before", "calm") : before;
  const isSteady = span === "touched" ? !exceeds(share("touched"), measure) : isCalmSteady;
  if (isSteady) return { steady: true, before, since: share("calm", "touched") };
  if (span !== "touched") return undefined;
  const any = Math.round((of.touched * measure.failed) / measure.of);
  return {
    steady: false,
    words: `; of ${count(failed.touched, "such failure")} at pods that started or ended some ${any} would have come in any case`,
  };
}

function tooFew({ failed, of }: Share): string {
  return `; before the first deletion ${failed} of ${count(of, "request")} failed so, too few to tell whether it goes on all the time (a longer --warm-up would)`;
}

/** Whether the first share is greater than the second by more than chance: given all failures, how they fall on the two groups. */
function exceeds(one: Share, measure: Share): boolean {
  const failures = one.failed + measure.failed;
  if (one.failed === 0 || failures === 0) return false;
  return binomialTail(one.failed, failures, one.of / (one.of + measure.of)) < significance;
}

function judgedLoss({ record, lost }: Attributed, judged: Judged): Partial<Attributed["lost"]> {
  if (!judged.steady) return { sentence: lost.sentence + judged.words };
  const { before, since } = judged;
  return {
    cause: "C12",
    sentence:
      `${seen(record)}${lost.pod === undefined ? "" : ` from ${lost.pod}`}, as often as before the first deletion: ` +
      `${whole(before.failed)} of ${count(before.of, "request")} then, ${whole(since.failed)} of ${whole(since.of)} since`,
  };
}

/** The first deletion, or the first new pod under load. */
function firstTrouble({ records }: RunRecording, lives: readonly PodLife[]): number {
  const began = records.reduce((least, { intended }) => Math.min(least, intended), Infinity);
  const moments = lives.flatMap(({ deleted, began: created }) => [
    ...(deleted ? [deleted.at] : []),
    ...(created > began ? [created] : []),
  ]);
  return moments.reduce((least, at) => Math.min(least, at), Infinity) - toleranceMs.observation;
}

function spanOf(record: RequestRecord, life: PodLife | undefined, first: number): Span {
  if (failedAt(record) < first) return "before";
  if (!life) return "touched";
  const isThere = setOut(record) > (life.ready ?? Infinity) + toleranceMs.observation;
  const isEnding = failedAt(record) >= (life.deleted?.at ?? Infinity) - toleranceMs.observation;
  // A container that crashed is like a pod that ends.
  const hasEnded = life.exits.some(({ at }) => failedAt(record) >= at - toleranceMs.observation);
  return isThere && !isEnding && !hasEnded ? "calm" : "touched";
}

/** What may be steady: failures of the same kind of request that look alike to the client. */
function kindOfFailure({ kind, outcome, status, error }: RequestRecord): string {
  return [kind, outcome, status ?? "", error ?? ""].join(" ");
}

function failed(record: RequestRecord): boolean {
  const symptom = symptomOf(record);
  return symptom !== undefined && symptom !== "not-sent" && record.kind !== "session";
}

function add<Key>(all: Map<Key, Counts>, key: Key, span: Span, by: number): void {
  const own = all.get(key) ?? { before: 0, calm: 0, touched: 0 };
  own[span] += by;
  all.set(key, own);
}

function failures({ records }: RunRecording, attribution: Attribution, first: number): Map<string, Counts> {
  const counts = new Map<string, Counts>();
  const note = (record: RequestRecord, span: Span): void => add(counts, kindOfFailure(record), span, 1);
  for (const record of records) if (failed(record) && failedAt(record) < first) note(record, "before");
  for (const { record, life } of attribution.lost) {
    const span = spanOf(record, record.pod === undefined ? undefined : life, first);
    if (span !== "before" && failed(record)) note(record, span);
  }
  return counts;
}

/** Requests that had an end, by kind. Those whose pods are not known count as touched. */
function totals(
  { records }: RunRecording,
  { recordsOf }: Attribution,
  first: number,
): Map<RequestRecord["kind"], Counts> {
  const all = new Map<RequestRecord["kind"], Counts>();
  for (const record of records)
    if (symptomOf(record) !== "not-sent")
      add(all, record.kind, failedAt(record) < first ? "before" : "touched", 1);
  for (const [life, own] of recordsOf)
    for (const record of own)
      if (symptomOf(record) !== "not-sent" && spanOf(record, life, first) === "calm") {
        add(all, record.kind, "calm", 1);
        add(all, record.kind, "touched", -1);
      }
  return all;
}
