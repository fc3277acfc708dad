import { boundAfterNone, percent, type Quantiles } from "@lameduck/accounting";
import { routes } from "../routes.ts";
import { scenarios } from "../scenarios.ts";
import type { RecordedRow } from "./recorded.ts";
import { markdownTable, pageWithin } from "../../../scripts/format-page.ts";

/** From the least to the most that is done, in the words of the page; others follow by name. */
const words: Readonly<Record<string, string>> = {
  nothing: "exit at SIGTERM",
  close: "`server.close()` at SIGTERM",
  "sleep-2": "preStop sleep of 2 s, then `close`",
  "sleep-5": "preStop sleep of 5 s, then `close`",
  "sleep-15": "preStop sleep of 15 s, then `close`",
  quiet: "library, policy `quiet`",
  adaptive: "library, policy `adaptive`",
  init: "lameduck-init as PID 1",
  "init-wait": "lameduck-init as preStop hook",
  "nginx-quit": "nginx: its own soft stop",
  "nginx-init": "nginx: lameduck-init as PID 1",
  "nginx-init-wait": "nginx: lameduck-init as preStop hook",
};

const order = Object.keys(words);

/** Every row has these, after what was done. */
const figures = [
  "terminations",
  "lost",
  "lost per termination, 95 %",
  "hold p50 / p90 / max",
  "oracle p50 / max",
  "pods killed",
];

/**
 * The tables of docs/evidence/results.md: rollouts through the ClusterIP, pods with little processor time, rollouts through other routes, and
 * what else happens to pods of the library. Of several loads the one with the most terminations stands there; one termination says nothing.
 */
export function markdown(recorded: readonly RecordedRow[]): string {
  const rows = recorded.filter(({ terminations }) => terminations !== 1).toSorted(byRemedy);
  const rollouts = rows.filter(({ scenario }) => scenario === "rollout");
  const direct = rollouts.filter(({ route }) => route === "cluster-ip");
  const limited = direct.filter(({ cpuLimit }) => cpuLimit !== undefined);
  const unlimited = direct.filter((row) => !limited.includes(row));
  const routed = mostTerminations(rollouts.filter(({ route }) => route !== "cluster-ip"));
  const used = Object.entries(routes).filter(([route]) => routed.some((row) => row.route === route));
  const others = scenarios.flatMap(({ name, description }) => {
    const row = rows.find(({ scenario, remedy }) => scenario === name && remedy === "adaptive");
    return name === "rollout" || row === undefined ? [] : [{ name, description, row }];
  });
  return [
    "### Rollouts through the Service's ClusterIP",
    table(["the pod", "load", ...figures], mostTerminations(unlimited).map(rowOf)),
    "### Pods with little processor time",
    table(["the pod", "load", ...figures], limited.map(rowOf)),
    "### Rollouts through other routes",
    table(
      ["route", "the pod", "load", ...figures],
      used.flatMap(([route]) =>
        routed.filter((row) => row.route === route).map((row) => [`\`${route}\``, ...rowOf(row)]),
      ),
    ),
    used.map(([route, description]) => `- \`${route}\`: ${description}.`).join("\n"),
    "### What else happens to pods",
    "The pod has the library, with policy `adaptive`.",
    table(
      ["scenario", "load", ...figures],
      others.map(({ name, row }) => [`\`${name}\``, loadOf(row), ...cells(row)]),
    ),
    others.map(({ name, description }) => `- \`${name}\`: ${description}.`).join("\n"),
    "### How late the senders were",
    measured(rollouts),
  ].join("\n\n");
}

const rowOf = (row: RecordedRow): string[] => [remedyOf(row), loadOf(row), ...cells(row)];

/** For each remedy on each route the row with the most terminations. */
function mostTerminations(rows: readonly RecordedRow[]): RecordedRow[] {
  const most = new Map<string, RecordedRow>();
  for (const row of rows) {
    const key = `${row.route} ${row.remedy}`;
    if (row.terminations > (most.get(key)?.terminations ?? -1)) most.set(key, row);
  }
  return [...most.values()];
}

const byRemedy = (a: RecordedRow, b: RecordedRow): number =>
  rank(a) - rank(b) || (a.remedy < b.remedy ? -1 : a.remedy > b.remedy ? 1 : byLoad(a, b));
const byLoad = (a: RecordedRow, b: RecordedRow): number =>
  b.requestsPerSecond - a.requestsPerSecond || limitOf(b) - limitOf(a);
const limitOf = ({ cpuLimit }: RecordedRow): number =>
  cpuLimit === undefined ? Number.MAX_SAFE_INTEGER : Number.parseInt(cpuLimit, 10);
const rank = ({ remedy }: RecordedRow): number =>
  order.includes(remedy) ? order.indexOf(remedy) : order.length;

const remedyOf = ({ remedy }: RecordedRow): string => words[remedy] ?? `\`${remedy}\``;

function cells(row: RecordedRow): string[] {
  return [
    row.terminations === 0 ? "none (no deletion)" : String(row.terminations),
    lost(row),
    perTermination(row),
    seconds(row.hold, "p50", "p90", "max"),
    seconds(row.oracle, "p50", "max"),
    row.killed > 0 ? String(row.killed) : "",
  ];
}

/** How many pods are started and ended at a time is said where it is not what Kubernetes does by itself. */
function loadOf({ requestsPerSecond, replicas, rolling = olderRolling, cpuLimit }: RecordedRow): string {
  const usual = rolling.surge === "25%" && rolling.unavailable === "25%";
  return [
    `${requestsPerSecond}/s to ${replicas} pods`,
    ...(usual ? [] : [`${rolling.surge} + ${rolling.unavailable} at a time`]),
    ...(cpuLimit === undefined ? [] : [`limits.cpu ${cpuLimit}`]),
  ].join(", ");
}

const olderRolling = { surge: "2", unavailable: "1" };

function lost({ lostNew, lostPooled, overloaded = 0 }: RecordedRow): string {
  const own = lostNew + lostPooled === 0 ? "**0**" : `${lostNew} new, ${lostPooled} pooled`;
  return overloaded === 0 ? own : `${own}; ${overloaded} to overload`;
}

/** After a zero an exact bound limits the share of terminations that lose anything; else the bootstrap bounds the mean. */
function perTermination({ terminations, lostNew, lostPooled, lostPerTermination }: RecordedRow): string {
  const { mean, low, high } = lostPerTermination;
  if (terminations === 0) return "";
  if (lostNew + lostPooled === 0)
    return `0 (fewer than ${percent(boundAfterNone(terminations), " ")} lose any)`;
  return terminations === 1 ? short(mean) : `${short(mean)} (${short(low)} to ${short(high)})`;
}

const short = (value: number): string => value.toFixed(value < 10 ? 2 : 0);

function seconds(quantiles: Quantiles, ...which: ("p50" | "p90" | "max")[]): string {
  if (quantiles.count === 0) return "";
  return `${which.map((name) => (quantiles[name] / 1_000).toFixed(1)).join(" / ")} s`;
}

/** How long kube-proxies, ingresses and clients really took, the longest seen in any row. */
function measured(rows: readonly RecordedRow[]): string {
  const most = new Map<string, { p50: number; max: number }>();
  for (const { sender, p50, max, count } of rows.flatMap(({ lags }) => lags)) {
    const name = sender.replace(/^client-\d+ /, "clients ");
    const known = most.get(name) ?? { p50: 0, max: 0 };
    if (count > 0) most.set(name, { p50: Math.max(known.p50, p50), max: Math.max(known.max, max) });
  }
  const senders = [...most].sort(([a], [b]) => (a < b ? -1 : 1));
  return [
    "From the deletion until no new connection could reach the pod. In parentheses is what was asked of kube-proxy.",
    table(
      ["sender", "median", "maximum"],
      senders.map(([sender, { p50, max }]) => [
        sender,
        `${(p50 / 1_000).toFixed(1)} s`,
        `${(max / 1_000).toFixed(1)} s`,
      ]),
    ),
  ].join("\n\n");
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  // A column that is empty in all rows is left out.
  const used = (row: readonly string[]): string[] =>
    row.filter((_, column) => rows.some((one) => one[column] !== ""));
  return markdownTable(used(head), rows.map(used));
}

/** The page with the tables in it. */
export const inPage = (page: string, tables: string): Promise<string> => pageWithin(page, "results", tables);
