import { withoutUndefined } from "@lameduck/drain/common";
import { type Cause, ofNoPod } from "./model/cause.ts";
import type { TerminationResult } from "./model/results.ts";
import type { RequestRecord } from "./model/request.ts";
import type { Attributed, Attribution } from "./attribution.ts";
import { setOut } from "./evidence/evidence.ts";
import { lastExit, stoppedAccepting, type PodLife, terminationFrom } from "./evidence/pod-life.ts";
import { convergedFrom, type SenderHistory } from "./evidence/sender-history.ts";
import { spell } from "./words.ts";
import { symptomOf } from "./evidence/symptom.ts";
import { toleranceMs } from "./evidence/tolerance.ts";

/** Counts by key, in the order of their first appearance. */
export function tally<K extends string>(keys: Iterable<K>): Partial<Record<K, number>> {
  const counts: Partial<Record<K, number>> = {};
  for (const key of keys) counts[key] = (counts[key] ?? 0) + 1;
  return counts;
}

/** The lives that were ended by a deletion in counted time, in the order of the deletions. */
export function terminated(lives: readonly PodLife[], countedFrom: number): PodLife[] {
  return lives
    .filter((life) => life.deleted !== undefined && life.deleted.at >= countedFrom)
    .sort((a, b) => a.deleted!.at - b.deleted!.at);
}

/**
 * Index of the termination that a lost request is charged to: its own pod's, or, for one lost at no terminating pod (no endpoint, a new
 * pod, overload), that which began last of those under way; undefined where none was, for what is of no pod, and for what was lost at a pod
 * that was terminating before anything was counted.
 */
export function chargedTo(
  { life, lost }: Attributed,
  terminations: readonly PodLife[],
  ended: number,
): number | undefined {
  if (ofNoPod.has(lost.cause)) return undefined;
  if (life?.deleted && lost.at + toleranceMs.observation >= life.deleted.at) {
    const own = terminations.indexOf(life);
    return own < 0 ? undefined : own;
  }
  const underWay = terminations.findLastIndex(
    (one) => one.deleted!.at <= lost.at && lost.at <= over(one, ended) + toleranceMs.observation,
  );
  return underWay < 0 ? undefined : underWay;
}

function over(life: PodLife, ended: number): number {
  return life.gone ?? lastExit(life) ?? ended;
}

export function termination(
  life: PodLife,
  { senders, recordsOf }: Attribution,
  causes: readonly Cause[],
  recording: { readonly countedFrom: number; readonly ended: number },
  untested: string | undefined,
): TerminationResult {
  const { at: deletedAt, grace } = life.deleted!;
  const records = recordsOf.get(life) ?? [];
  const end = over(life, recording.ended);
  const stop = stoppedAccepting(life);
  return withoutUndefined({
    pod: life.pod,
    deletedAt,
    grace,
    total: Math.max(0, end - deletedAt),
    hold: Math.max(0, (stop?.at ?? end) - deletedAt),
    stopReason: stopReason(life, stop),
    lastArrival: lastArrival(life, records),
    oracle: oracle(life, deletedAt, senders),
    rate: rate(life, records, recording.countedFrom),
    lost: causes.length,
    lostByCause: tally(causes),
    killed: life.killed !== undefined,
    killedBecause: killedBecause(life),
    exitCode: life.exits.flatMap((exit) => (exit.type === "exited" ? (exit.code ?? []) : [])).at(-1),
    killedEarly: killedEarly(life),
    // What was lost is evidence, whatever else is not known.
    untested: causes.length > 0 ? undefined : untested,
  });
}

/** Killed by the kernel's OOM killer, by a deletion without grace, or by hand on the node. */
function killedEarly({ deleted, killed, exits }: PodLife): TerminationResult["killedEarly"] {
  const end = exits.find((exit) => exit.type === "exited" && exit.signal === "SIGKILL");
  if (!deleted || !end || killed !== undefined || end.at < deleted.at) return undefined;
  return withoutUndefined({ after: end.at - deleted.at, why: end.detail });
}

/** What the pod did in its grace period: its hook, Lameduck's phases, what the kubelet saw at the end. */
function killedBecause({ events, deleted, killed }: PodLife): string | undefined {
  if (killed === undefined || !deleted) return undefined;
  const hook = events.find(({ type }) => type === "pre-stop-begun");
  const hookEnd = events.find(({ type }) => type === "pre-stop-ended");
  const phase = events.findLast(({ type }) => type === "phase");
  const seen = events.find((event) => event.type === "killed" && event.because !== undefined);
  const grace = spell(deleted.grace);
  const said = [
    hook && `its preStop hook took ${spell((hookEnd?.at ?? killed) - hook.at)} of the ${grace}`,
    phase?.type === "phase" &&
      `Lameduck in it had reached the phase ${phase.phase} ${spell(phase.at - deleted.at)} after the deletion`,
    seen?.type === "killed" && seen.because,
  ].filter((part) => typeof part === "string");
  return said.length === 0 ? undefined : said.join("; ");
}

function stopReason(life: PodLife, stop: ReturnType<typeof stoppedAccepting>): string {
  const from = terminationFrom(life.deleted);
  const reported = life.events.findLast(
    (event) => event.type === "phase" && event.reason !== undefined && event.at >= from,
  );
  if (reported?.type === "phase") return reported.reason!;
  if (!stop) return "still running";
  // The end of the process closes the listener: then the end is the reason.
  const because = (moment: number | undefined): boolean =>
    moment !== undefined && moment - stop.at <= toleranceMs.exit;
  if (stop.by !== "closing" && because(life.killed)) return "killed";
  if (stop.by !== "closing" && because(life.exits.at(-1)?.at)) return "exit";
  return stop.by;
}

/** The last request that reached the pod, after the deletion: refused ones did not, whether the caller or a proxy was refused. */
function lastArrival(life: PodLife, records: readonly RequestRecord[]): number | undefined {
  const end = lastExit(life) ?? Infinity;
  let last: number | undefined;
  for (const record of records) {
    const after = setOut(record) - life.deleted!.at;
    if (after >= 0 && after > (last ?? -1) && setOut(record) <= end && reached(record)) last = after;
  }
  return last;
}

function reached(record: RequestRecord): boolean {
  const symptom = symptomOf(record);
  if (symptom === "unavailable") return record.podKnownBy === "header";
  return symptom !== "refused" && symptom !== "unreachable" && symptom !== "not-sent";
}

function oracle(
  life: PodLife,
  deletedAt: number,
  senders: ReadonlyMap<string, SenderHistory>,
): number | undefined {
  let last: number | undefined;
  for (const sender of senders.values()) {
    if (!sender.choices.has(life.pod)) continue;
    const converged = convergedFrom(sender, life);
    if (converged === undefined) return undefined;
    last = Math.max(last ?? 0, converged - deletedAt);
  }
  return last;
}

/** Over the time in which the pod was counted and not deleted; too short a time gives no rate worth dividing by. */
function rate(life: PodLife, records: readonly RequestRecord[], countedFrom: number): number | undefined {
  const until = life.deleted!.at;
  let first = Infinity;
  let requests = 0;
  for (const { intended } of records) {
    if (intended < countedFrom || intended >= until) continue;
    first = Math.min(first, intended);
    requests++;
  }
  const from = life.ready === undefined ? first : Math.max(countedFrom, life.ready);
  const time = until - Math.min(from, first);
  return requests > 0 && time >= toleranceMs.observation ? requests / (time / 1_000) : undefined;
}
