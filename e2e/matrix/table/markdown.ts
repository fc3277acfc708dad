import { boundAfterNone, causes, percent, type Quantiles } from "@lameduck/accounting";
import { routes } from "../routes.ts";
import { scenarios } from "../scenarios.ts";
import type { RecordedRow } from "./recorded.ts";
import { formatPage } from "../../../scripts/format-page.ts";

/** From the least to the most that is done; others follow by name. */
const order = [
  "nothing",
  "close",
  "sleep-2",
  "sleep-5",
  "sleep-15",
  "quiet",
  "adaptive",
  "init",
  "init-wait",
  "nginx-quit",
  "nginx-init",
  "nginx-init-wait",
];

/** Every row has these, between what was done and what it cost. */
const figures = [
  "terminations",
  "lost",
  "lost per termination, 95 %",
  "hold p50 / p90 / max",
  "oracle p50 / max",
  "pods killed",
  "most frequent cause",
];

/**
 * The tables of docs/cluster.md: rollouts through the ClusterIP, rollouts through other routes, and everything else that happens to
 * pods. One termination says nothing of a remedy, so that rows of one are left out.
 */
export function markdown(recorded: readonly RecordedRow[]): string {
  const rows = recorded.filter(({ terminations }) => terminations !== 1).toSorted(byRemedy);
  const rollouts = rows.filter(({ scenario }) => scenario === "rollout");
  const direct = rollouts.filter(({ route }) => route === "cluster-ip");
  const used = Object.entries(routes).filter(([route]) =>
    rollouts.some((row) => row.route === route && route !== "cluster-ip"),
  );
  const others = scenarios.filter(
    ({ name }) => name !== "rollout" && rows.some(({ scenario }) => scenario === name),
  );
  return [
    `Rollouts through ${routes["cluster-ip"]}:`,
    table(
      ["remedy", "load", ...figures],
      direct.map((row) => [remedyOf(row), loadOf(row), ...cells(row)]),
    ),
    "Rollouts through other routes:",
    table(
      ["route", "remedy", "load", ...figures],
      used.flatMap(([route]) =>
        rollouts
          .filter((row) => row.route === route)
          .map((row) => [`\`${route}\``, remedyOf(row), loadOf(row), ...cells(row)]),
      ),
    ),
    used.map(([route, description]) => `- \`${route}\`: ${description}.`).join("\n"),
    "Everything else that happens to pods:",
    table(
      ["scenario", "route", "remedy", "load", ...figures],
      others.flatMap(({ name }) =>
        rows
          .filter(({ scenario }) => scenario === name)
          .map((row) => [`\`${name}\``, row.route, remedyOf(row), loadOf(row), ...cells(row)]),
      ),
    ),
    others.map(({ name, description }) => `- \`${name}\`: ${description}.`).join("\n"),
    measured(rollouts),
  ].join("\n\n");
}

const byRemedy = (a: RecordedRow, b: RecordedRow): number =>
  rank(a) - rank(b) || (a.remedy < b.remedy ? -1 : a.remedy > b.remedy ? 1 : byLoad(a, b));
const byLoad = (a: RecordedRow, b: RecordedRow): number =>
  b.requestsPerSecond - a.requestsPerSecond || limitOf(b) - limitOf(a);
const limitOf = ({ cpuLimit }: RecordedRow): number =>
  cpuLimit === undefined ? Number.MAX_SAFE_INTEGER : Number.parseInt(cpuLimit, 10);
const rank = ({ remedy }: RecordedRow): number =>
  order.includes(remedy) ? order.indexOf(remedy) : order.length;

const remedyOf = ({ remedy }: RecordedRow): string => `\`${remedy}\``;

function cells(row: RecordedRow): string[] {
  return [
    row.terminations === 0 ? "none (no deletion)" : String(row.terminations),
    lost(row),
    perTermination(row),
    seconds(row.hold, "p50", "p90", "max"),
    seconds(row.oracle, "p50", "max"),
    row.killed > 0 ? String(row.killed) : "",
    mostFrequentCause(row),
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

function mostFrequentCause({ lostByCause, lostNew, lostPooled }: RecordedRow): string {
  if (lostNew + lostPooled === 0) return "";
  const [cause, count] = Object.entries(lostByCause).reduce((most, other) =>
    other[1] > most[1] ? other : most,
  );
  return `${causes[cause as keyof typeof causes]}: ${count}`;
}

/** How long kube-proxies and ingresses really took, the longest seen in any row. */
function measured(rows: readonly RecordedRow[]): string {
  const most = new Map<string, { p50: number; max: number }>();
  for (const { sender, p50, max, count } of rows.flatMap(({ lags }) => lags)) {
    const known = most.get(sender) ?? { p50: 0, max: 0 };
    if (count > 0) most.set(sender, { p50: Math.max(known.p50, p50), max: Math.max(known.max, max) });
  }
  const senders = [...most].sort(([a], [b]) => (a < b ? -1 : 1));
  return [
    "Lag of the senders in these rollouts, from the deletion until no new connection could reach the pod (median, maximum):",
    senders
      .map(
        ([sender, { p50, max }]) =>
          `- ${sender}: ${(p50 / 1_000).toFixed(1)} s, ${(max / 1_000).toFixed(1)} s`,
      )
      .join("\n"),
  ].join("\n\n");
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  // A column that is empty in all rows is left out.
  const used = head.map((_, column) => rows.some((row) => row[column] !== ""));
  const line = (row: readonly string[]): string =>
    `| ${row.filter((_, column) => used[column]).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

const begin = "<!-- written by npm run matrix:table -- --write -->";
const end = "<!-- end of what is written by matrix:table -->";

/** The page with the tables between its two marks replaced, formatted as the repository's checks want it. */
export async function inPage(text: string, tables: string): Promise<string> {
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`the page lacks "${begin}" and "${end}"`);
  const whole = `${text.slice(0, from + begin.length)}\n\n${tables}\n\n${text.slice(to)}`;
  return formatPage(whole);
}
