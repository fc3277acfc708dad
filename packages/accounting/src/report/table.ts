import { styleText } from "node:util";
import type { RemedyResult, Results } from "../model/results.ts";
import { advice } from "./advice.ts";
import { betterBounds, causesOf, explanations, type Wording } from "./explanations.ts";
import { lostOf, perTerminationOf, secondsOf, titleOf } from "./figures.ts";
import { verdictOf, type Verdict } from "./verdict.ts";
import { whole } from "../words.ts";

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
      `  ${paint("bold", titleOf(result))}`,
      ...shown.flatMap(({ lost, words, example }) => [
        `    ${paint("red", whole(lost).padStart(6))}  ${words}`,
        ...wrap(`e.g. ${example}`, width, " ".repeat(12), " ".repeat(12)),
      ]),
      ...(rest > 0 ? [`    ${whole(rest).padStart(6)}  by other causes`] : []),
    ];
  });
  return ["", paint("bold", "Why"), ...lines];
}

/** Of the comparison; the last is the verdict. */
export const columns: readonly Column[] = [
  { title: "remedy", align: "left" },
  { title: "pods", align: "right" },
  { title: "lost", align: "right" },
  { title: "lost per pod", align: "right" },
  { title: "slow", align: "right" },
  { title: "hold s", align: "right" },
  { title: "oracle s", align: "right" },
  { title: "killed", align: "right" },
  { title: "verdict", align: "left" },
];

/** The cells of a row, all but the verdict. */
export function texts(result: RemedyResult): string[] {
  if (result.skipped !== undefined) return [titleOf(result), ...columns.slice(2).map(() => "")];
  return [
    titleOf(result),
    whole(result.terminations),
    lostOf(result),
    perTerminationOf(result),
    whole(result.slow),
    secondsOf(result.hold, "p50", "p90", "max"),
    secondsOf(result.oracle, "p50", "max"),
    whole(result.killed),
  ];
}

/** A cell: its text, and how to colour it once its width is settled. */
export interface Cell {
  readonly text: string;
  readonly paint?: (text: string) => string;
}

interface Column {
  readonly title: string;
  readonly align: "left" | "right";
}

const separator = "  ";

/** Lays cells out in columns; the first column gives way where the whole would be wider than allowed. */
export function grid(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  width: number,
): string[] {
  const widths = columns.map((column, i) =>
    Math.max(column.title.length, ...rows.map((row) => row[i]?.text.length ?? 0)),
  );
  const excess = widths.reduce((sum, one) => sum + one + separator.length, -separator.length) - width;
  if (excess > 0) widths[0] = Math.max(columns[0]!.title.length, 8, widths[0]! - excess);
  const lay = (cells: readonly Cell[]): string =>
    columns
      .map(({ align }, i) => fit(cells[i] ?? { text: "" }, widths[i]!, align))
      .join(separator)
      .trimEnd();
  return [
    lay(columns.map(({ title }) => ({ text: title }))),
    "-".repeat(widths.reduce((sum, one) => sum + one + separator.length, -separator.length)),
    ...rows.map(lay),
  ];
}

function fit({ text, paint = (same) => same }: Cell, width: number, align: Column["align"]): string {
  const shown = text.length > width ? `${text.slice(0, width - 1)}…` : text;
  const space = " ".repeat(width - shown.length);
  return align === "left" ? paint(shown) + space : space + paint(shown);
}

/** Breaks a text at spaces into lines no longer than the width, all but the first indented further. */
function wrap(text: string, width: number, indent: string, hanging: string): string[] {
  const lines: string[] = [];
  let line = indent;
  let empty = true;
  // A number is not separated from its unit.
  for (const word of text.split(/ (?!(?:ms|s|%)(?:\W|$))/)) {
    if (!empty && line.length + 1 + word.length > width) {
      lines.push(line);
      line = hanging;
      empty = true;
    }
    line += empty ? word : ` ${word}`;
    empty = false;
  }
  return [...lines, line];
}
