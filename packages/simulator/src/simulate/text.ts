import { count } from "@lameduck/accounting/words";
import { formatDuration } from "@lameduck/drain";
import { printable } from "@lameduck/drain/common";
import { sendersOf } from "../model/scenario.ts";
import type { PolicyResult, Simulation } from "./simulate.ts";

/** The table of a simulation, for a terminal. */
export function renderSimulation(simulation: Simulation): string {
  const { scenario, oracle } = simulation;
  const senders = sendersOf(scenario);
  const head = [
    "policy",
    "lost/termination",
    "95 %",
    "any",
    "C1",
    "C2",
    "C3",
    "C4",
    "hold mean",
    "p90",
    "max",
    "rollout",
    "same loss by sleep",
  ];
  const rows = simulation.policies.map((result) => row(result, simulation));
  return [
    `${printable(scenario.name)}: ${count(simulation.terminations, "termination")}, ${count(scenario.replicas, "replica")}, ${count(senders, "sender")}, ${number(scenario.traffic.perPod)} new connections/s per pod, grace ${formatDuration(scenario.pod.grace)}, seed ${simulation.seed}`,
    `last sender stopped sending (oracle): mean ${seconds(oracle.mean)}, p90 ${seconds(oracle.p90)}, max ${seconds(oracle.max)}; ${count(simulation.conflicts, "EndpointSlice conflict")}`,
    "",
    ...table([head, ...rows]),
    "",
    "lost: requests per termination, mean; on new connections as many as are to be expected. 95 %: its interval.",
    "C1 listener closed, C2 pod gone, C3 keep-alive race, C4 cut in flight: as they happened, so the sum differs from lost.",
    "any: share of terminations that lost anything. rollout: from the first deletion to the end of the last pod.",
    "same loss by sleep: the fixed delay that would lose no more, found in hindsight; -: no delay within the grace period.",
    "docs/tools/simulate.md explains the policies.",
    "",
  ].join("\n");
}

function row(result: PolicyResult, { terminations }: Simulation): string[] {
  const { mean, low, high } = result.lostPerTermination;
  const { C1, C2, C3, C4 } = result.lostByCause;
  return [
    result.policy,
    number(mean),
    `${number(low)}..${number(high)}`,
    `${(100 * result.anyLost).toFixed(terminations >= 1_000 ? 1 : 0)} %`,
    ...[C1, C2, C3, C4].map(number),
    seconds(result.hold.mean),
    seconds(result.hold.p90),
    seconds(result.hold.max),
    seconds(result.rolloutTime),
    result.fixedForSameLoss === undefined ? "-" : seconds(result.fixedForSameLoss),
  ];
}

/** Columns as wide as their widest cell; the first to the left, numbers to the right. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((cells) => cells[column]?.length ?? 0)),
  );
  return rows.map((cells) =>
    cells
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
      .join("  ")
      .trimEnd(),
  );
}

/** Three digits that matter; 0 only where there was nothing. */
export function number(value: number): string {
  if (value === 0) return "0";
  if (value < 0.0005) return "<0.001";
  return value >= 100
    ? value.toFixed(0)
    : value >= 10
      ? value.toFixed(1)
      : value >= 1
        ? value.toFixed(2)
        : value.toFixed(3);
}

export function seconds(milliseconds: number): string {
  return `${(milliseconds / 1_000).toFixed(1)}s`;
}
