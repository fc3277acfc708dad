import {
  account,
  heldAgainstPods,
  quantiles,
  count,
  spell,
  percent,
  whole,
  type RemedyResult,
  type RunRecording,
} from "@lameduck/accounting";
import type { Action } from "./actions/action.ts";
import type { RolloutRun } from "./run.ts";
import { nameOf } from "./target-reference.ts";
import type { Target } from "./target.ts";

/** The run as a row of the results document. */
export function rolloutResult(
  { recording, outcome }: RolloutRun,
  { action, seed }: { readonly action: Action; readonly seed: number },
): RemedyResult {
  const ending = outcome.kind === "finished" ? "" : ` (${outcome.kind})`;
  return account(recording, { description: `${action.summary}${ending}`, seed });
}

/** What was observed beside the requests, for the document's settings. Durations are milliseconds. */
export function observedFacts(run: RolloutRun): Record<string, unknown> {
  const { outcome, joined, follow, serverClock, withdrawalsMs, left } = run;
  return {
    outcome:
      outcome.kind === "failed" ? { kind: outcome.kind, words: outcome.error.message } : { ...outcome },
    podsKnownBy: joined,
    withdrawal: quantiles(withdrawalsMs),
    watch: follow,
    ...(serverClock === undefined ? {} : { serverClock }),
    ...(left === undefined ? {} : { left: left.message }),
  };
}

/** What a reader has to know beside the figures, a sentence each. */
export function rolloutNotes(run: RolloutRun): string[] {
  const { recording, joined, follow, serverClock, withdrawalsMs, notes } = run;
  const said: string[] = [...notes, ...earlyEnd(recording)];
  const { header, proxy, tuple, unknown } = joined;
  if (recording.records.length > 0)
    said.push(
      `How the pod of a request is known: ${header} by the app's header, ${proxy} by a proxy's, ${tuple} by the connection; ` +
        `${unknown} by nothing but the time.`,
    );
  if (recording.records.length > 0 && header + proxy + tuple === 0)
    said.push(
      "No answer named one of the target's pods: that the load went through them is assumed, not seen (x-pod-name in answers would show it).",
    );
  if (withdrawalsMs.length > 0) {
    const { p50, max } = quantiles(withdrawalsMs);
    said.push(
      `EndpointSlices withdrew a pod ${spell(p50)} after its deletion (median; at most ${spell(max)}): senders learn of it then, and act later.`,
    );
  }
  if (follow.interrupted + follow.expired > 0)
    said.push(
      `The watch was interrupted ${count(follow.interrupted, "time")} and had expired ${count(follow.expired, "time")}; it was resumed, ` +
        "but moments of that time are known to the second only.",
    );
  if (serverClock && Math.abs(serverClock.milliseconds) > serverClock.within + 50)
    said.push(
      `The API server's clock is ${spell(serverClock.milliseconds)} ${serverClock.milliseconds > 0 ? "ahead of" : "behind"} this machine's ` +
        `(to within ${spell(serverClock.within)}); all times here are this machine's.`,
    );
  return said;
}

/** A load that reached its bound, or was stopped by its sender. A pause of twenty times the usual one is not chance. */
function earlyEnd({ records, ended }: RunRecording): string[] {
  let first = Infinity;
  let last = -Infinity;
  for (const { intended } of records) {
    first = Math.min(first, intended);
    last = Math.max(last, intended);
  }
  const usual = (last - first) / Math.max(1, records.length - 1);
  if (records.length === 0 || ended - last <= Math.max(1_000, 20 * usual)) return [];
  return [
    `The load ended ${spell(ended - last)} before the run did, after ${count(records.length, "request")}: what stopped afterwards is untested.`,
  ];
}

/** What the run proves, in one or two sentences. */
export function rolloutConclusion(result: RemedyResult, target: Target): string {
  const name = nameOf(target.reference);
  const { untested = 0, terminations, sent, weff } = result;
  const { lost } = heldAgainstPods(result);
  const anyway = lost > 0 ? ` ${whole(lost)} of ${count(sent, "request")} lost all the same.` : "";
  if (terminations === 0) return `No pod of ${name} was terminated: nothing is proved.${anyway}`;
  const tested = terminations - untested;
  if (tested === 0)
    return `${count(untested, "termination")} of ${name} without load through ${untested === 1 ? "it" : "them"}: whether requests were lost is not known.${anyway}`;
  const rest = untested === 0 ? "" : ` Of ${count(untested, "more termination")} nothing is known.`;
  const pods = count(tested, "termination");
  if (lost > 0) {
    const perRate =
      weff > 0 ? ` (W_eff ${weff.toFixed(2)} s: lost requests per request rate through the pods)` : "";
    return `${name} lost ${whole(lost)} of ${count(sent, "request")} in ${pods}${perRate}.${rest}`;
  }
  const bound = result.lostPerTermination.high;
  const proof = `: with 95 % confidence fewer than ${percent(bound, " ")} of its terminations lose anything.`;
  return `${name} lost none of ${count(sent, "request")} in ${pods}${proof}${rest}`;
}
