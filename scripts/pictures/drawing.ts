import { element, escape, label } from "../../packages/accounting/src/report/markup.ts";

/** Narrow, so that a phone of 360 px still shows letters of 10 px. */
export const width = 480;

/** What a class paints, in light and in dark. No two parts of a picture differ by colour alone. */
const palette = {
  ground: ["fill", "#ffffff", "#14171b"],
  ink: ["fill", "#1b1f24", "#e6e9ee"],
  soft: ["fill", "#505862", "#a9b3bf"],
  line: ["stroke", "#505862", "#a9b3bf"],
  grid: ["stroke", "#d9dee4", "#343b44"],
  box: ["fill", "#f0f2f5", "#232932"],
  accepts: ["fill", "#a9c8f2", "#2b5a9c"],
  closing: ["fill", "#f2cf8a", "#7d5a12"],
  sends: ["fill", "#9fd0bf", "#2f6654"],
  lost: ["fill", "#f7c5bf", "#6e2c26"],
  "lost-line": ["stroke", "#b02318", "#ff8a7f"],
  bad: ["fill", "#b02318", "#ff8a7f"],
  good: ["fill", "#1a7f45", "#4cc47d"],
} as const satisfies Readonly<Record<string, readonly ["fill" | "stroke", light: string, dark: string]>>;

export type Paint = keyof typeof palette;

const rules = (which: 1 | 2): string =>
  `svg{color:${palette.ink[which]}}` +
  Object.entries(palette)
    .map(([name, paint]) => `.${name}{${paint[0]}:${paint[which]}}`)
    .join("");

/** A page of Markdown cannot style what it shows as an image, so a picture brings both of its styles. */
const style =
  "text{font:14px system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif;fill:currentColor}" +
  `.name{font-weight:600}path,.outline{stroke-width:1.5}.outline,path{fill:none}` +
  `path.solid{stroke:none}${rules(1)}@media(prefers-color-scheme:dark){${rules(2)}}`;

/** Stripes, for what must be told from its neighbour without its colour; and the head of an arrow. */
const definitions = element(
  "defs",
  {},
  element(
    "pattern",
    { id: "stripes", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    element("rect", { width: 6, height: 6, class: "lost" }),
    element("path", { d: "M1 0V6", class: "lost-line" }),
  ),
  element(
    "marker",
    { id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" },
    element("path", { d: "M0 0L8 4L0 8Z", class: "soft solid" }),
  ),
);

export interface Picture {
  readonly title: string;
  /** What it shows, for who cannot see it. */
  readonly description: string;
  /** Where it is not the usual one. */
  readonly width?: number;
  readonly height: number;
  /** Besides the usual one. */
  readonly style?: string;
  /** Markup already. */
  readonly parts: readonly string[];
}

/** A file for a page of Markdown. */
export function svg({ title, description, width: wide, height, style: more = "", parts }: Picture): string {
  const across = wide ?? width;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${across} ${height}" width="${wide ?? width * 1.25}" role="img">`,
    element("title", {}, escape(title)),
    element("desc", {}, escape(description)),
    element("style", {}, style + more),
    definitions,
    element("rect", { width: across, height, rx: 6, class: "ground" }),
    ...parts,
    "</svg>\n",
  ].join("\n");
}

type Anchor = "start" | "middle" | "end";

export function text(x: number, y: number, words: string, kind = "ink", anchor: Anchor = "start"): string {
  return label(x, y, words, { class: kind, "text-anchor": anchor === "start" ? undefined : anchor });
}

export function bar(x: number, y: number, length: number, height: number, paint: Paint | "stripes"): string {
  const size = { x, y, width: Math.max(2, length), height };
  return paint === "stripes"
    ? element("rect", { ...size, fill: "url(#stripes)" })
    : element("rect", { ...size, class: paint });
}

export function path(
  d: string,
  paint: Paint = "line",
  how: "dashed" | "arrow" | "dashed arrow" | "" = "",
): string {
  return element("path", {
    d,
    class: paint,
    "stroke-dasharray": how.includes("dashed") ? "4 3" : undefined,
    "marker-end": how.includes("arrow") ? "url(#head)" : undefined,
  });
}

/** A name with lines below it, in a frame. */
export function box(
  x: number,
  y: number,
  size: readonly [width: number, height: number],
  [name = "", ...lines]: readonly string[],
  isDashed = false,
): string {
  const [across, down] = size;
  const first = y + down / 2 + 5 - lines.length * 9;
  return (
    element("rect", { x, y, width: across, height: down, rx: 5, class: "box" }) +
    element("rect", {
      x,
      y,
      width: across,
      height: down,
      rx: 5,
      class: "line outline",
      "stroke-dasharray": isDashed ? "4 3" : undefined,
    }) +
    text(x + across / 2, first, name, "ink name", "middle") +
    lines
      .map((line, index) => text(x + across / 2, first + 18 * (index + 1), line, "soft", "middle"))
      .join("")
  );
}
