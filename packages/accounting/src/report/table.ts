import { styleText } from "node:util";
import type { RemedyResult, Results } from "../model/results.ts";
import { columns, texts } from "./columns.ts";
import { betterBounds, causesOf, explanations, type Wording } from "./explanations.ts";
import { whole } from "./figures.ts";
import { grid, wrap, type Cell } from "./grid.ts";
import { verdictOf, type Verdict } from "./verdict.ts";
import { advice } from "./advice.ts";

interface TextOptions {
  /** Stream of the output. Colours are used only if it is a terminal that shows them. */
  readonly stream?: NodeJS.WriteStream;
  /** Longest line. Default: 110. */
  readonly width?: number;
  /** Default: that of a comparison of remedies. */
  readonly instead?: Wording;
}

type Paint = (colour: Parameters<typeof styleText>[0], text: string) => string;

const colours = {
  "no loss": "green",
  overruns: "yellow",
  loses: "red",
  untested: "yellow",
  skipped: "dim",
} as const satisfies Record<Verdict, Parameters<typeof styleText>[0]>;

/** The comparison for a terminal: a row per remedy, then why requests were lost, then which remedy to take. */
export function comparisonText(results: Results, options: TextOptions = {}): string {
  const { stream, width = 110, instead } = options;
  const paint: Paint = (colour, text) => (stream ? styleText(colour, text, { stream }) : text);
  return [
    ...table(results.remedies, paint, width, instead?.title),
    ...notes(results.remedies, width, [...betterBounds(results), ...(instead?.notes ?? [])]),
    ...why(results.remedies, paint, width),
    "",
    ...wrap(instead?.conclusion ?? advice(results.remedies), width, "", ""),
    "",
  ].join("\n");
}

function table(remedies: readonly RemedyResult[], paint: Paint, width: number, title = "remedy"): string[] {
  const rows = remedies.map((result): Cell[] => {
    const verdict = verdictOf(result);
    const last: Cell = { text: verdict, paint: (text) => paint(colours[verdict], text) };
    return [...texts(result).map((text) => ({ text })), last];
  });
  const [, ...others] = columns;
  const [head, rule, ...body] = grid([{ title, align: "left" }, ...others], rows, width);
  return [paint("bold", head!), paint("dim", rule!), ...body];
}

function notes(remedies: readonly RemedyResult[], width: number, more: readonly string[]): string[] {
  return ["", ...explanations(remedies, more).flatMap((note) => wrap(note, width, "", "  "))];
}

function why(remedies: readonly RemedyResult[], paint: Paint, width: number): string[] {
  const losers = remedies.filter((one) => one.lost > 0);
  if (losers.length === 0) return [];
  const lines = losers.flatMap((result) => {
    const { shown, rest } = causesOf(result);
    return [
      `  ${paint("bold", result.remedy)}`,
      ...shown.flatMap(({ lost, words, example }) => [
        `    ${paint("red", whole(lost).padStart(6))}  ${words}`,
        ...wrap(`e.g. ${example}`, width, " ".repeat(12), " ".repeat(12)),
      ]),
      ...(rest > 0 ? [`    ${whole(rest).padStart(6)}  by other causes`] : []),
    ];
  });
  return ["", paint("bold", "Why"), ...lines];
}
