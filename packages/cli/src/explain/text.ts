import { timelineText } from "@lameduck/drain";
import { printable } from "@lameduck/drain/common";
import {
  budgetOf,
  senderTimelines,
  origin,
  reservations,
  seconds,
  silent,
  type Explained,
} from "./explained.ts";

const columns = 62;
/** At most, about: each power of ten has as many as another. */
const mostRows = 12;
const mostSenders = 8;
const blocks = " ▁▂▃▄▅▆▇█";

/** For a terminal: one line of why, expected loss over time, and the senders that made it. */
export function explanationText(explained: Explained): string {
  const { trace, replayed } = explained;
  const { length, moments, timeline } = replayed;
  const losses = sampled(moments.map(({ expectedLoss }) => expectedLoss));
  const budget = budgetOf(explained);
  const scale = scaleOf(losses, budget);
  return [
    printable(origin(explained)),
    printable(`held ${seconds(length)} s, ${trace.end?.reason ?? "no end"}: ${timelineText(timeline)}`),
    ...reservations(explained),
    "",
    "Requests expected to be lost by stopping then:",
    ...chart(losses, scale, budget),
    `${" ".repeat(margin)}${axis(length)}`,
    "",
    ...senders(explained, scale),
    "",
  ].join("\n");
}

const margin = 16;

interface Scale {
  /** Powers of ten. */
  readonly low: number;
  readonly high: number;
}

function scaleOf(losses: readonly number[], budget: number | undefined): Scale {
  const high = Math.ceil(Math.log10(Math.max(...losses, 1e-9)));
  const least = Math.floor(Math.log10(budget ?? 1e-3)) - 1;
  return { low: Math.min(least, high - 1), high };
}

/** 0 to 1. */
function heightOf(loss: number, { low, high }: Scale): number {
  return loss <= 0 ? 0 : Math.min(1, Math.max(0, (Math.log10(loss) - low) / (high - low)));
}

/** One moment a column: of several moments the one with the greatest expected loss. */
function sampled(losses: readonly number[]): number[] {
  return Array.from({ length: columns }, (_, column) => {
    const from = Math.floor((column * losses.length) / columns);
    const to = Math.max(from + 1, Math.floor(((column + 1) * losses.length) / columns));
    return Math.max(0, ...losses.slice(from, to));
  });
}

function chart(losses: readonly number[], scale: Scale, budget: number | undefined): string[] {
  const perPower = Math.max(1, Math.floor(mostRows / (scale.high - scale.low)));
  const rows = (scale.high - scale.low) * perPower;
  const budgetRow = budget === undefined ? -1 : Math.floor(heightOf(budget, scale) * rows + 1e-9);
  return Array.from({ length: rows }, (_, index) => {
    const row = rows - 1 - index;
    const line = losses.map((loss) => {
      const block = blockOf(heightOf(loss, scale) * rows - row);
      return block === " " && row === budgetRow ? "┄" : block;
    });
    const power = scale.low + row / perPower;
    const tick = Number.isInteger(power) ? String(Number((10 ** power).toPrecision(1))) : "";
    const label = row === budgetRow ? `budget ${budget}` : tick;
    return `${label.padStart(margin - 2)} ┤${line.join("")}`;
  });
}

function blockOf(filled: number): string {
  return blocks[Math.round(Math.min(1, Math.max(0, filled)) * 8)] ?? " ";
}

function axis(length: number): string {
  const marks = 4;
  let line = "";
  for (let mark = 0; mark <= marks; mark++) {
    const text = `${seconds((mark * length) / marks)}${mark === marks ? " s" : ""}`;
    line = line.padEnd(Math.round((mark * columns) / marks) - (mark === marks ? 3 : 0)) + text;
  }
  return line;
}

function senders(explained: Explained, scale: Scale): string[] {
  const timelines = senderTimelines(explained, mostSenders);
  if (timelines.length === 0) return ["No sender was ever seen."];
  const named = timelines.map((timeline) => printable(timeline.name).slice(0, 28));
  const width = Math.max(...named.map((name) => name.length), 6);
  const head = `${"sender".padEnd(width)}  ${"before".padStart(8)}  ${"in hold".padStart(7)}  ${"silent".padStart(7)}  expected of it, from SIGTERM to the end`;
  return [
    head,
    ...timelines.map(({ perSecond, arrivals, silence, losses }, index) => {
      const spark = sampled(losses)
        .filter((_, column) => column % 2 === 0)
        .map((loss) => blockOf(heightOf(loss, scale)))
        .join("");
      const rate = `${Number(perSecond.toPrecision(2))}/s`;
      return `${named[index]!.padEnd(width)}  ${rate.padStart(8)}  ${String(arrivals.length).padStart(7)}  ${silent(silence).padStart(7)}  ${spark.trimEnd()}`;
    }),
  ];
}
