import { count } from "../../words.ts";
import type { RemedyResult } from "../../model/results.ts";
import { seconds, short, testedOf } from "../figures.ts";
import { verdictOf } from "../verdict.ts";
import { element, label, title, widthOf } from "../markup.ts";
import { linear, logWithZero, type Scale } from "./scale.ts";

const width = 960;
const height = 380;
const centred = { "text-anchor": "middle" };
const frame = { left: 64, right: 24, top: 20, bottom: 52 };

/** A point per remedy: how long its pods were held, and what that still lost. Below and to the left is better. */
export function lossAgainstHold(remedies: readonly RemedyResult[]): string {
  const shown = remedies.filter((one) => testedOf(one) > 0);
  if (shown.length === 0) return "";
  const longest = Math.max(1, ...shown.flatMap(({ hold, oracle }) => [hold.max, oracle.max]));
  // A little room before zero: the dot of a remedy without a hold must not stand on the numbers of the axis.
  const x = linear([-0.02 * longest, 1.03 * longest], [frame.left, width - frame.right], 10);
  const y = logWithZero(
    shown.flatMap(({ lostPerTermination: { mean, high } }) => (mean > 0 ? [mean, high] : [])),
    [height - frame.bottom - 12, frame.top],
  );
  const best = shown.toSorted(
    (a, b) => a.lostPerTermination.mean - b.lostPerTermination.mean || a.hold.p50 - b.hold.p50,
  )[0]!;
  return element(
    "svg",
    {
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": `Lost requests per termination against hold, ${count(shown.length, "remedy", "remedies")}; the table above has the figures. Best: ${best.remedy}.`,
    },
    oracleBand(shown, x),
    axes(x, y),
    ...shown.map((one) => point(one, x, y)),
    ...labels(shown, x, y),
  );
}

/** Where the last sender had converged: left of it every hold is too short for some. */
function oracleBand(shown: readonly RemedyResult[], x: Scale): string {
  const known = shown.filter((one) => one.oracle.count > 0);
  if (known.length === 0) return "";
  const medians = known.map((one) => one.oracle.p50).sort((a, b) => a - b);
  const from = medians[Math.floor(medians.length / 2)]!;
  const to = Math.max(...known.map((one) => one.oracle.max));
  return element(
    "g",
    {},
    element(
      "rect",
      {
        x: x(from),
        y: frame.top,
        width: Math.max(2, x(to) - x(from)),
        height: height - frame.top - frame.bottom,
        class: "oracle",
      },
      title(
        `Last sender stopped sending: median ${seconds(from)} s, at most ${seconds(to)} s after the deletion`,
      ),
    ),
    label(
      x(to) - 6,
      frame.top + 14,
      `last sender stopped sending: ${seconds(from)} (median) to ${seconds(to)} s`,
      {
        class: "quiet",
        ...(x(to) > width / 2 ? { "text-anchor": "end" } : { x: x(to) + 6 }),
      },
    ),
  );
}

function axes(x: Scale, y: Scale): string {
  const bottom = height - frame.bottom;
  return element(
    "g",
    { class: "axis" },
    ...y.ticks.flatMap((tick) => {
      const at = { x1: frame.left, x2: width - frame.right, y1: y(tick), y2: y(tick) };
      const text = tick >= 1 ? String(tick) : String(+tick.toPrecision(1));
      return [
        element("line", { ...at, class: tick === 0 ? "zero" : "grid" }),
        label(frame.left - 8, y(tick) + 4, text, { "text-anchor": "end" }),
      ];
    }),
    ...x.ticks.map((tick) => label(x(tick), bottom + 18, String(tick / 1_000), centred)),
    label(
      (frame.left + width) / 2,
      height - 8,
      "hold, seconds: deletion until the pod stopped accepting (dot: median, line: to the longest)",
      centred,
    ),
    element(
      "text",
      { transform: `translate(16 ${(frame.top + bottom) / 2}) rotate(-90)`, ...centred },
      "lost per termination",
    ),
  );
}

function point(result: RemedyResult, x: Scale, y: Scale): string {
  const { hold } = result;
  const { mean, low, high } = result.lostPerTermination;
  const at = y(mean);
  const interval = { x1: x(hold.p50), x2: x(hold.p50), y1: y(low), y2: y(high), class: "whisker" };
  return element(
    "g",
    { class: `remedy ${verdictOf(result).replace(" ", "-")}` },
    mean > 0 ? element("line", interval) : "",
    element("line", { x1: x(hold.p50), x2: x(hold.max), y1: at, y2: at, class: "whisker" }),
    element("circle", { cx: x(hold.p50), cy: at, r: 6 }),
    title(
      `${result.remedy}: ${short(mean)} lost per termination${mean > 0 ? ` (95 %: ${short(low)} to ${short(high)})` : ""}, ` +
        `hold ${seconds(hold.p50)} s (at most ${seconds(hold.max)} s), ${count(testedOf(result), "termination")}`,
    ),
  );
}

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** Names beside their points, moved up or down until none covers another or a point. */
function labels(shown: readonly RemedyResult[], x: Scale, y: Scale): string[] {
  const taken = shown.map((one) => around(x(one.hold.p50), y(one.lostPerTermination.mean), 7));
  return shown.map((one) => {
    const cx = x(one.hold.p50);
    const cy = y(one.lostPerTermination.mean);
    // Names are bold, which takes a tenth more.
    const size = widthOf(one.remedy) * 1.1;
    const boxes = [0, -16, 16, -32, 32, -48, 48].flatMap((dy) =>
      [cx + 11, cx - 11 - size].map((left): Box => ({
        left,
        right: left + size,
        top: cy + dy - 9,
        bottom: cy + dy + 6,
      })),
    );
    const isFree = (box: Box): boolean =>
      box.left > frame.left &&
      box.right < width &&
      box.top > 0 &&
      !taken.some((other) => overlap(box, other));
    const box = boxes.find(isFree) ?? boxes[0]!;
    taken.push(box);
    return label(box.left, box.top + 13, one.remedy, { class: "name" });
  });
}

function around(x: number, y: number, r: number): Box {
  return { left: x - r, right: x + r, top: y - r, bottom: y + r };
}

function overlap(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}
