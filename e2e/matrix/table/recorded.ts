import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { heldAgainstPods, type LostRequest, type Quantiles, type RemedyResult } from "@lameduck/accounting";
import { formatJson } from "../../../scripts/format-page.ts";
import type { Row } from "../kept.ts";

/** What the documentation says of one row: small enough to be kept in the repository beside it. */
export interface RecordedRow {
  readonly scenario: string;
  readonly route: string;
  readonly remedy: string;
  readonly proxyMode: Row["proxyMode"];
  readonly proxyLag: Row["proxyLag"];
  readonly requestsPerSecond: number;
  readonly replicas: number;
  /** Unknown of older rows: two more and one less at a time. */
  readonly rolling?: Row["rolling"];
  readonly cpuLimit?: string;
  readonly recordedAt: string;
  readonly sent: number;
  readonly terminations: number;
  /** Held against the pods; what senders cut by themselves, and what was lost to overload, is counted apart. */
  readonly lostNew: number;
  readonly lostPooled: number;
  /** Not answered in time by pods that were not terminating. */
  readonly overloaded?: number;
  readonly lostByCause: RemedyResult["lostByCause"];
  readonly lostPerTermination: RemedyResult["lostPerTermination"];
  readonly killed: number;
  /** Milliseconds. */
  readonly hold: Quantiles;
  readonly oracle: Quantiles;
  readonly lags: Row["lags"];
}

const file = join(import.meta.dirname, "..", "recorded.json");

const keyOf = ({ scenario, route, remedy, cpuLimit = "", ...load }: RecordedRow): string =>
  `${route} ${scenario} ${remedy} ${load.requestsPerSecond}/${load.replicas} ${cpuLimit}`;

export async function readRecorded(): Promise<RecordedRow[]> {
  return JSON.parse(await readFile(file, "utf8")) as RecordedRow[];
}

/** Takes the rows measured into the record, in place of those that had the same names. */
export async function record(rows: readonly Row[]): Promise<RecordedRow[]> {
  const all = new Map((await readRecorded().catch(() => [])).map((row) => [keyOf(row), row]));
  for (const row of rows.map(condense)) all.set(keyOf(row), row);
  const sorted = [...all.values()].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  await writeFile(file, await formatJson(sorted));
  return sorted;
}

function condense(row: Row): RecordedRow {
  const { result } = row;
  const held = heldAgainstPods(result);
  const overloaded = lostToOverload(result);
  const overloadedNew = overloaded.filter(({ mode }) => mode === "new").length;
  return {
    scenario: row.scenario,
    route: row.route,
    remedy: result.remedy,
    proxyMode: row.proxyMode,
    proxyLag: row.proxyLag,
    requestsPerSecond: row.requestsPerSecond,
    replicas: row.replicas,
    rolling: row.rolling,
    ...(row.cpuLimit === undefined ? {} : { cpuLimit: row.cpuLimit }),
    recordedAt: row.recordedAt,
    sent: result.sent,
    terminations: result.terminations,
    lostNew: held.lostNew - overloadedNew,
    lostPooled: held.lostPooled - (overloaded.length - overloadedNew),
    ...(overloaded.length === 0 ? {} : { overloaded: overloaded.length }),
    lostByCause: result.lostByCause,
    lostPerTermination: rounded(result.lostPerTermination, 4),
    killed: result.killed,
    hold: rounded(result.hold, 0),
    oracle: rounded(result.oracle, 0),
    lags: row.lags.map((lag) => ({ ...lag, p50: Math.round(lag.p50), max: Math.round(lag.max) })),
  };
}

/** Overload of a pod that is terminating is the termination's loss. */
function lostToOverload({ lostRequests, each }: RemedyResult): readonly LostRequest[] {
  return lostRequests.filter(
    ({ cause, pod, termination }) =>
      cause === "C8" && (termination === undefined || each[termination]?.pod !== pod),
  );
}

function rounded<T extends object>(value: T, digits: number): T {
  return JSON.parse(
    JSON.stringify(value, (_key, part: unknown) =>
      typeof part === "number" ? Number(part.toFixed(digits)) : part,
    ),
  ) as T;
}
