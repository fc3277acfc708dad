import { reportsOf, type DrainReport } from "@lameduck/coordinator";
import { count } from "@lameduck/accounting/words";
import type { KubernetesClient } from "@lameduck/kube";
import { ifReadable } from "../cluster/facts.ts";

/** Terminations of pods in which a hold came in place of a sleep. */
export interface SavedTime {
  /** That reported their hold. */
  readonly terminations: number;
  /** That did not: what they saved is not known. */
  readonly unknown: number;
  /** Of those that did, together. Milliseconds. */
  readonly sleepMs: number;
  readonly holdMs: number;
}

const dayMs = 86_400_000;

export function savedIn(reports: readonly DrainReport[]): SavedTime {
  const replaced = reports.filter(({ hold }) => hold?.formerSleepMs !== undefined);
  const known = replaced.filter(({ hold }) => hold.ms !== undefined);
  const sum = (values: readonly number[]): number => values.reduce((total, one) => total + one, 0);
  return {
    terminations: known.length,
    unknown: replaced.length - known.length,
    sleepMs: sum(known.map(({ hold }) => hold.formerSleepMs ?? 0)),
    holdMs: sum(known.map(({ hold }) => hold.ms ?? 0)),
  };
}

/** The records of the last day. @returns undefined where there are no such records, or they may not be read. */
export async function lateReports(
  client: KubernetesClient,
  namespace: string,
  now: number,
  signal: AbortSignal,
): Promise<readonly DrainReport[] | undefined> {
  const all = await ifReadable(client.list<DrainReport>(reportsOf(namespace), signal));
  return all?.filter(({ deletedAt }) => now - Date.parse(deletedAt) <= dayMs);
}

/** Terminations of pods that slept. */
export interface SavableTime {
  /** Of which it is known when all senders had let go. */
  readonly terminations: number;
  readonly unknown: number;
  /** Of those that are known, together. Milliseconds. */
  readonly sleepMs: number;
  readonly releasedMs: number;
}

/** @param sleeps seconds that pods of a workload sleep today, by its name in reports. */
export function savableIn(reports: readonly DrainReport[], sleeps: ReadonlyMap<string, number>): SavableTime {
  const slept = reports.flatMap(({ workload, injected, moments }) => {
    const seconds = injected === undefined ? sleeps.get(workload) : undefined;
    return seconds === undefined ? [] : [{ sleepMs: seconds * 1_000, releasedMs: moments?.released }];
  });
  const known = slept.flatMap(({ sleepMs, releasedMs }) =>
    releasedMs === undefined ? [] : [{ sleepMs, releasedMs }],
  );
  return {
    terminations: known.length,
    unknown: slept.length - known.length,
    sleepMs: known.reduce((sum, one) => sum + one.sleepMs, 0),
    releasedMs: known.reduce((sum, one) => sum + one.releasedMs, 0),
  };
}

export function savableText({ terminations, sleepMs, releasedMs }: SavableTime): string {
  const left = sleepMs - releasedMs;
  const slept = `${count(terminations, "termination")} slept ${mean(sleepMs, terminations)} on average, and all senders had stopped sending after ${mean(releasedMs, terminations)}`;
  return left > 0
    ? `${slept}: existingSleep: replace would have saved ${spell(left)}`
    : `${slept}: the sleep is too short`;
}

/** "40 terminations held 4.1 s where they slept 15.0 s before: 7 min saved" */
export function savedText({ terminations, sleepMs, holdMs }: SavedTime): string {
  const saved = sleepMs - holdMs;
  return `${count(terminations, "termination")} held ${mean(holdMs, terminations)} on average in place of a sleep of ${mean(sleepMs, terminations)}: ${spell(Math.abs(saved))} ${saved < 0 ? "lost" : "saved"}`;
}

const mean = (ms: number, of: number): string => `${(ms / of / 1_000).toFixed(1)} s`;

function spell(ms: number): string {
  const seconds = ms / 1_000;
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3_600).toFixed(1)} h`;
}
