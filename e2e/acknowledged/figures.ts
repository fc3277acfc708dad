import { heldAgainstPods, quantiles, type Quantiles, type RemedyResult } from "@lameduck/accounting";
import type { DrainReport } from "@lameduck/coordinator";
import type { Retried } from "../matrix/load/fleet.ts";
import { markdownTable } from "../../scripts/format-page.ts";

/** What was measured in one cell. */
export interface Row {
  readonly way: string;
  readonly acknowledged: boolean;
  readonly policy: string;
  readonly route: string;
  readonly situation: string;
  readonly requestsPerSecond: number;
  readonly replicas: number;
  readonly recordedAt: string;
  readonly retried?: Retried;
  /** With acknowledgements: the coordinator's record of each pod. */
  readonly reports?: readonly DrainReport[];
  readonly result: RemedyResult;
}

/** How much longer each pod held than the last sender needed, milliseconds; negative where it stopped before that. */
export const beyondOracle = ({ each }: RemedyResult): Quantiles =>
  quantiles(each.flatMap(({ hold, oracle }) => (oracle === undefined ? [] : [hold - oracle])));

const head = [
  "way",
  "load",
  "route",
  "situation",
  "terminations",
  "lost new",
  "lost pooled",
  "retried, not connected",
  "causes",
  "hold p50 / p90 / max",
  "oracle p50 / max",
  "hold - oracle p50 / p90 / max",
  "stop reasons",
  "killed",
];

/** A table in Markdown, in the order in which the rows were measured. */
export function tableOf(rows: readonly Row[]): string {
  return markdownTable(head, rows.map(cells));
}

function cells({
  way,
  acknowledged,
  policy,
  route,
  situation,
  requestsPerSecond,
  replicas,
  retried,
  result,
}: Row): string[] {
  const { lostNew, lostPooled } = heldAgainstPods(result);
  const { hold, oracle, lostByCause, terminations, killed } = result;
  return [
    `${way}, ${policy}${acknowledged ? "" : ", alone"}`,
    `${requestsPerSecond}/s to ${replicas} pods`,
    route,
    situation,
    String(terminations),
    String(lostNew),
    String(lostPooled),
    retried === undefined ? "" : `${retried.requests}, ${retried.notConnected}`,
    list(lostByCause),
    seconds(hold.p50, hold.p90, hold.max),
    seconds(oracle.p50, oracle.max),
    spread(beyondOracle(result)),
    list(reasonsOf(result)),
    String(killed),
  ];
}

const spread = ({ count, p50, p90, max }: Quantiles): string => (count === 0 ? "" : seconds(p50, p90, max));
const seconds = (...values: readonly number[]): string =>
  `${values.map((value) => (value / 1_000).toFixed(1)).join(" / ")} s`;
const list = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");

export function reasonsOf({ each }: RemedyResult): Record<string, number> {
  const groups = Map.groupBy(each, ({ stopReason }) => stopReason);
  return Object.fromEntries([...groups].map(([reason, own]) => [reason, own.length]));
}
