import { count as counted, type Quantiles } from "@lameduck/accounting";
import { printable } from "@lameduck/drain/common";
import type { ConsumerRecord, DrainReport } from "@lameduck/coordinator";
import { columns } from "../output.ts";
import { figuresOf, type Figures } from "./figures.ts";
import { savedText } from "./saved.ts";

/** What the command was asked for. */
export interface Asked {
  readonly namespace: string;
  readonly since: string;
}

/** Rows of the latest terminations, where there are many: --json has all. */
const mostRows = 40;

/** All terminations of a namespace: their figures, and a row each. */
export function overviewText(reports: readonly DrainReport[], { namespace, since }: Asked): string {
  if (reports.length === 0)
    return `namespace ${namespace}: no termination was recorded in the last ${since}; pods that no Service selects are not recorded, and reports are kept for a day unless configured otherwise\n`;
  const shown = reports.slice(-mostRows);
  const left = reports.length - shown.length;
  return [
    `namespace ${namespace}: ${counted(reports.length, "termination")} in the last ${since}`,
    ...figureLines(figuresOf(reports)),
    "",
    ...columns([head, ...shown.map(row)]),
    ...(left > 0 ? [`and ${left} before; --json has all`] : []),
    "",
  ].join("\n");
}

function figureLines({ hold, released, afterRelease, reasons, ...rest }: Figures): string[] {
  const { killed, killedUnknown, overruled, stuck, atRisk, saved, terminations } = rest;
  const reasonText = Object.entries(reasons).map(([reason, count]) => `${printable(reason)} ${count}`);
  return [
    `  hold            ${spread(hold, terminations)}`,
    `  released        ${spread(released, terminations)}`,
    `  stop - release  ${spread(afterRelease, terminations)}`,
    `  stop reasons    ${reasonText.join(", ")}`,
    `  killed          ${killed}${killedUnknown > 0 ? ` (and ${killedUnknown} of which nobody knows)` : ""}`,
    `  overruled       ${overruled}`,
    `  at risk         ${atRisk.reported === 0 ? "unknown" : `during holds came ${counted(atRisk.requests, "request")}, ${counted(atRisk.connections, "new connection")} (${atRisk.reported} of ${terminations} reported them)`}`,
    ...Object.entries(stuck).map(
      ([name, of]) =>
        `  still sending   ${printable(name)} to ${counted(of, "pod")}, 60 s after ${of === 1 ? "its end" : "their ends"}`,
    ),
    ...(saved.terminations > 0 ? [`  former sleeps   ${savedText(saved)}`] : []),
  ];
}

function spread({ count, p50, p90, max }: Quantiles, of: number): string {
  if (count === 0) return "unknown";
  const basis = count === of ? "" : `  (${count} of ${of})`;
  return `p50 ${seconds(p50)}  p90 ${seconds(p90)}  max ${seconds(max)}${basis}`;
}

const head = ["deleted", "pod", "workload", "hold", "released", "reason", "at risk", "killed", "program"];

function row({ deletedAt, pod, workload, summary, killed, program }: DrainReport): string[] {
  const { hold, released, reason, atRisk } = summary;
  return [deletedAt.slice(11, 19), pod.name, workload, hold, released, reason, atRisk, killed, program];
}

/** Everything that is known of one termination. */
export function detailText(report: DrainReport): string {
  const { pod, deletedAt, graceSeconds, summary, consumers, containers, unknown, hold } = report;
  return [
    printable(summary.text),
    `deleted ${deletedAt.slice(0, 19).replace("T", " ")} UTC, grace period ${graceSeconds} s${pod.node ? `, on ${printable(pod.node)}` : ""}`,
    ...(hold?.words ? [printable(hold.words)] : []),
    "",
    ...momentLines(report),
    ...(consumers.length > 0
      ? ["", ...columns([["sender", "basis", "stopped sending"], ...consumers.map(consumerRow)])]
      : []),
    ...(containers.length > 0 ? [""] : []),
    ...containers.map(
      ({ name, exitCode, reason, exitedMs }) =>
        `container ${printable(name)}: exit code ${exitCode}${reason ? ` (${printable(reason)})` : ""}${exitedMs === undefined ? "" : ` after ${seconds(exitedMs)}`}`,
    ),
    ...(unknown.length > 0 ? ["", ...unknown.map((one) => `not known: ${printable(one)}`)] : []),
    "",
  ].join("\n");
}

const momentNames = {
  withdrawn: "withdrawn from the ready endpoints",
  lameDuck: "the pod begins to hold",
  released: "released: every sender has stopped sending",
  closing: "the pod stops accepting",
  closed: "the pod has closed",
  exited: "the last container exits (in whole seconds)",
  gone: "the object is gone",
} as const;

/** A program that is beside Lameduck stops accepting when it likes. */
const endsByHook = "the hold ends: the program is told to stop";

function momentLines({ moments, program }: DrainReport): string[] {
  return Object.entries(momentNames)
    .flatMap(([name, words]) => {
      const at = moments[name as keyof typeof momentNames];
      const told = name === "closing" && program !== "library" ? endsByHook : words;
      return at === undefined ? [] : [{ at, words: told }];
    })
    .sort((a, b) => a.at - b.at)
    .map(({ at, words }) => `${seconds(at).padStart(8)}  ${words}`);
}

function consumerRow({ name, basis, state, appliedMs, reason }: ConsumerRecord): string[] {
  const letGo = appliedMs === undefined ? state : seconds(appliedMs);
  return [name, basis ?? "unknown", reason === undefined ? letGo : `${letGo}: ${reason}`];
}

const seconds = (milliseconds: number): string => `${(milliseconds / 1_000).toFixed(1)}s`;
