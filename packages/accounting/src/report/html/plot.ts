import { element, escape, figure, label, title } from "../markup.ts";
import { linear, logWithZero, type Scale } from "./scale.ts";

/** Lines and dots in one colour. */
export interface Series {
  readonly name: string;
  readonly color: string;
  /** Of the line, as in `stroke-dasharray`. */
  readonly dash?: string | undefined;
  readonly points: readonly (readonly [x: number, y: number])[];
  readonly line?: boolean;
  readonly dots?: boolean;
  /** Hover text of each point. */
  readonly labels?: readonly string[];
}

export interface PlotOptions {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  /** Zero has a place of its own below the decades. */
  readonly logY?: boolean;
}

export const plotSize = { width: 640, height: 360 } as const;
const { width, height } = plotSize;
const frame = { left: 64, right: 16, top: 28, bottom: 40 };
/** On a logarithmic axis a smaller value counts as zero. */
const least = 1e-5;

/** Lines that differ for who sees no colours. The first is whole. */
const dashes = [undefined, "9 4", "2 3", "9 3 2 3", "16 4", "5 5", "1 6", "16 3 2 3 2 3"] as const;

export function dashOf(index: number): string | undefined {
  return dashes[index % dashes.length];
}

/** A short piece of a line, for legends. */
export function sampleOf(color: string, dash: string | undefined): string {
  const size = { width: 40, height: 8 };
  return element(
    "svg",
    { viewBox: `0 0 ${size.width} ${size.height}`, class: "sample", "aria-hidden": "true" },
    element("line", { x1: 0, x2: size.width, y1: 4, y2: 4, ...strokeOf(color, dash) }),
  );
}

function strokeOf(
  color: string,
  dash: string | undefined,
  thick = 2,
): Record<string, string | number | undefined> {
  return { fill: "none", stroke: color, "stroke-width": thick, "stroke-dasharray": dash };
}

/** A figure with its legend, for a page of the reports. */
export function plot(all: readonly Series[], options: PlotOptions): string {
  const lines = all.filter(({ line }) => line);
  const series = all.map((one) => ({ ...one, dash: one.line ? dashOf(lines.indexOf(one)) : undefined }));
  const picture = element(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": options.title },
    plotted(series, options),
  );
  const legend = series.map(({ name, color, dash, line }) =>
    element(
      "li",
      {},
      line ? sampleOf(color, dash) : element("i", { class: "dot", style: `background:${color}` }, ""),
      escape(name),
    ),
  );
  return figure(escape(options.title), picture + element("ul", { class: "legend" }, ...legend));
}

/** What stands in the picture, without the element `svg`. */
export function plotted(series: readonly Series[], options: PlotOptions): string {
  const all = series.flatMap(({ points }) => points);
  const vertical = [height - frame.bottom, frame.top] as const;
  const x = linear(
    [0, Math.max(1e-9, ...all.map(([at]) => at)) * 1.04],
    [frame.left, width - frame.right],
    5,
  );
  const y = options.logY
    ? logWithZero(
        all.map(([, value]) => known(value)).filter((value) => value > 0),
        vertical,
      )
    : linear([0, Math.max(1e-9, ...all.map(([, value]) => value)) * 1.05], vertical, 5);
  const place = (value: number): number => y(options.logY ? known(value) : value);
  return axes(options, x, y) + series.map((one) => drawn(one, x, place)).join("");
}

function known(value: number): number {
  return value < least ? 0 : value;
}

function drawn(series: Series, x: Scale, y: (value: number) => number): string {
  const { color, dash, points, line, dots = true, labels, name } = series;
  const at = points.map(([across, up]) => `${x(across).toFixed(1)},${y(up).toFixed(1)}`).join(" ");
  return [
    line ? element("polyline", { ...strokeOf(color, dash), points: at }) : "",
    ...(dots ? points : []).map(([across, up], index) =>
      element("circle", { cx: x(across), cy: y(up), r: 3.5, fill: color }, title(labels?.[index] ?? name)),
    ),
  ].join("");
}

function axes(options: PlotOptions, x: Scale, y: Scale): string {
  const bottom = height - frame.bottom;
  const middle = { "text-anchor": "middle" };
  return element(
    "g",
    { class: "axis" },
    ...x.ticks.flatMap((tick) => [
      element("line", { x1: x(tick), x2: x(tick), y1: frame.top, y2: bottom, class: "grid" }),
      label(x(tick), bottom + 16, short(tick), middle),
    ]),
    ...y.ticks.flatMap((tick) => [
      element("line", { x1: frame.left, x2: width - frame.right, y1: y(tick), y2: y(tick), class: "grid" }),
      label(frame.left - 6, y(tick) + 4, short(tick), { "text-anchor": "end" }),
    ]),
    label((width + frame.left) / 2, height - 6, options.x, middle),
    element("text", { transform: `translate(14 ${height / 2}) rotate(-90)`, ...middle }, escape(options.y)),
  );
}

function short(value: number): string {
  return String(+value.toPrecision(3));
}
