import { count, dashOf, linear, logWithZero, type Scale } from "@lameduck/accounting";
import { element, label, title } from "@lameduck/accounting/markup";
import type { Met } from "@lameduck/drain";
import { budgetOf, seconds, type SenderTimeline, type Explained } from "./explained.ts";

/** Distinct in light and dark mode, and with most kinds of colour blindness. */
export const colours = ["#3b7dd8", "#d17a00", "#2a9d6f", "#b455b6", "#c2452d", "#6b7f99"] as const;

const width = 960;
const frame = { left: 128, right: 24, top: 34, plot: 300 };
const axisHeight = 34;
const rowHeight = 18;

interface Stroke {
  readonly style: string;
  readonly "stroke-dasharray"?: string | undefined;
}

const strokeOf = (sender: number): Stroke => ({
  style: `stroke:${colours[sender]!}`,
  "stroke-dasharray": dashOf(sender + 1),
});

/** Expected loss in all and by sender, the conditions of the stop, and below them each sender's arrivals. */
export function lossOverTime(explained: Explained, timelines: readonly SenderTimeline[]): string {
  const { moments, length, timeline } = explained.replayed;
  const bottom = frame.top + frame.plot;
  const total = moments.map(({ expectedLoss }) => expectedLoss);
  const budget = budgetOf(explained);
  const least = (budget ?? 1e-3) / 10;
  const x = linear([0, length / 1_000], [frame.left, width - frame.right], 10);
  // Lower values are drawn at a tenth of the budget.
  const shown = (loss: number): number => Math.max(loss, least);
  const y = logWithZero([...total, least].map(shown), [bottom, frame.top]);
  const line = (losses: readonly number[], words: string, thick: number, stroke: Stroke): string =>
    element(
      "polyline",
      {
        fill: "none",
        "stroke-width": thick,
        ...stroke,
        "stroke-linejoin": "round",
        points: losses
          .map((loss, index) => `${round(x(moments[index]!.at / 1_000))},${round(y(shown(loss)))}`)
          .join(" "),
      },
      title(words),
    );
  const rows = bottom + axisHeight;
  const height = rows + timelines.length * rowHeight + 10;
  return element(
    "figure",
    {},
    element(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, role: "img" },
      title("Expected loss over time, by sender"),
      axes(x, y, bottom),
      budget === undefined ? "" : budgetLine(y(budget), budget),
      ...conditions(timeline.met, x, bottom),
      ...timelines.map(({ losses, name }, index) => line(losses, name, 1.5, strokeOf(index))),
      line(total, "all senders", 2.5, { style: "stroke:var(--ink)" }),
      ...timelines.map((one, index) => arrivals(one, x, rows + index * rowHeight, strokeOf(index))),
    ),
  );
}

function axes(x: Scale, y: Scale, bottom: number): string {
  return element(
    "g",
    { class: "axis" },
    ...y.ticks
      .filter((tick) => tick > 0)
      .map(
        (tick) =>
          element("line", {
            x1: frame.left,
            x2: width - frame.right,
            y1: y(tick),
            y2: y(tick),
            class: "grid",
          }) +
          label(frame.left - 8, y(tick) + 4, String(Number(tick.toPrecision(1))), { "text-anchor": "end" }),
      ),
    ...x.ticks.map((tick) => label(x(tick), bottom + 18, `${tick} s`, { "text-anchor": "middle" })),
  );
}

function budgetLine(y: number, budget: number): string {
  return (
    element("line", { x1: frame.left, x2: width - frame.right, y1: y, y2: y, class: "moment closed" }) +
    label(frame.left + 6, y - 5, `budget ${budget}`, { class: "closed" })
  );
}

/** When each condition of the stop was met: the latest ends the hold. */
function conditions(met: readonly Met[], x: Scale, bottom: number): string[] {
  return met.map(({ condition, at }, index) => {
    const where = x(at / 1_000);
    const isRight = where > width * 0.75;
    return (
      element("line", { x1: where, x2: where, y1: frame.top, y2: bottom, class: "moment" }) +
      label(where + (isRight ? -5 : 5), frame.top - 6 - (index % 2) * 13, `${condition} ${seconds(at)} s`, {
        class: "moment-label",
        "text-anchor": isRight ? "end" : "start",
      })
    );
  });
}

/** A piece of the sender's line, its name and its arrivals. */
function arrivals({ name, arrivals: times }: SenderTimeline, x: Scale, y: number, stroke: Stroke): string {
  const end = width - frame.right;
  // A thousand arrivals in a tenth of a second are one mark.
  const reach = new Map<number, number>();
  for (const { at, isConnection } of times) {
    const place = round(x(at / 1_000));
    if (place <= end) reach.set(place, Math.max(reach.get(place) ?? 0, isConnection ? 7 : 3));
  }
  return element(
    "g",
    {},
    title(`${name}: ${count(times.length, "arrival")} in the hold`),
    element("line", { x1: 2, x2: 26, y1: y, y2: y, "stroke-width": 2, ...stroke }),
    label(frame.left - 8, y + 4, name.length > 13 ? `${name.slice(0, 12)}…` : name, {
      "text-anchor": "end",
      "font-size": 11,
    }),
    element("line", { x1: frame.left, x2: end, y1: y, y2: y, class: "grid" }),
    ...[...reach].map(([place, up]) =>
      element("line", {
        x1: place,
        x2: place,
        y1: y - up,
        y2: y + up,
        style: stroke.style,
        "stroke-width": 1.2,
      }),
    ),
  );
}

const round = (value: number): number => Math.round(value * 2) / 2;
