import { bar, path, text, width, type Paint, type Picture } from "./drawing.ts";
import { linear } from "../../packages/accounting/src/report/html/scale.ts";
import { leastCap, usualGrace } from "../../packages/inject/src/times.ts";

interface Part {
  readonly seconds: number;
  readonly words: string;
  readonly paint: Paint | "none";
}

/** A grace period before the injection, and what becomes of it: cap and reserve, and what a usual termination takes of them. */
export function gracePeriod(): Picture {
  const grace = leastCap + usualGrace;
  const x = linear([0, grace], [12, width - 22], 11);
  const high = 30;
  const held = 10;
  const own = 6;
  const rows: readonly (readonly [heading: string, parts: readonly Part[]])[] = [
    [
      `Before: a grace period of ${usualGrace} s, then SIGKILL`,
      [{ seconds: usualGrace, words: "the program's own stop", paint: "closing" }],
    ],
    [
      `With the hold: ${grace} s at most, then SIGKILL`,
      [
        { seconds: leastCap, words: `hold up to the cap, ${leastCap} s`, paint: "accepts" },
        { seconds: usualGrace, words: `reserve, ${usualGrace} s: its own stop`, paint: "closing" },
      ],
    ],
    [
      "Usually: the hold ends when traffic has moved away",
      [
        { seconds: held, words: "hold", paint: "accepts" },
        { seconds: own, words: "stop", paint: "closing" },
        { seconds: grace - held - own, words: "never used: the pod is gone", paint: "none" },
      ],
    ],
  ];
  const top = 30;
  const step = 82;
  const axis = top + rows.length * step;
  return {
    title: "The grace period as a bar",
    description:
      `Before the injection the grace period of ${usualGrace} s is all for the program's own stop. With the hold the grace period is ${grace} s: ` +
      `a hold of at most ${leastCap} s, which is the cap, and then a reserve of ${usualGrace} s for the program's own stop. ` +
      "Usually the hold ends when traffic has moved away, the program stops, and the rest of the grace period is never used. SIGKILL comes at the end of the grace period.",
    height: axis + 44,
    parts: rows
      .flatMap(([heading, parts], index) => {
        const y = top + index * step;
        let from = 0;
        const drawn = parts.flatMap(({ seconds, words, paint }) => {
          const [start, end] = [x(from), x(from + seconds)];
          from += seconds;
          return [
            paint === "none" ? "" : bar(start, y + 12, end - start, high, paint),
            path(
              `M${start} ${y + 12}H${end}V${y + 12 + high}H${start}Z`,
              "line",
              paint === "none" ? "dashed" : "",
            ),
            text(
              (start + end) / 2,
              y + 12 + high / 2 + 5,
              words,
              paint === "none" ? "soft" : "ink",
              "middle",
            ),
          ];
        });
        return [text(12, y, heading, "ink name"), ...drawn];
      })
      .concat(x.ticks.map((tick) => text(x(tick), axis, String(tick), "soft", "middle")))
      .concat(text(width / 2, axis + 20, "seconds after the deletion", "soft", "middle")),
  };
}
