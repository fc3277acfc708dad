import { styleText } from "node:util";
import type { RemedyResult, Results } from "../model/results.ts";
import { few, lostOf, perTerminationOf, secondsOf, titleOf, whole } from "./figures.ts";
import { grid, wrap, type Cell, type Column } from "./grid.ts";
import { reservations } from "./reservations.ts";
import { verdictOf, type Verdict } from "./verdict.ts";
import { advice } from "./advice.ts";
import { whyOf } from "./why.ts";
import type { Wording } from "./wording.ts";

export interface TextOptions {
  /** Where it goes: colours are used if that is a terminal that shows them. Without it there are none. */
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
    ...notes(results.remedies, width, instead?.notes),
    ...why(results.remedies, paint, width),
    "",
    ...wrap(instead?.conclusion ?? advice(results.remedies), width, "", ""),
    "",
  ].join("\n");
}

const columns: readonly Column[] = [
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

function table(remedies: readonly RemedyResult[], paint: Paint, width: number, title = "remedy"): string[] {
  const rows = remedies.map((result): Cell[] => {
    const verdict = verdictOf(result);
    const last: Cell = { text: verdict, paint: (text) => paint(colours[verdict], text) };
    if (result.skipped !== undefined)
      return [{ text: titleOf(result) }, ...columns.slice(2).map(() => ({ text: "" })), last];
    return [
      { text: titleOf(result) },
      { text: whole(result.terminations) },
      { text: lostOf(result) },
      { text: perTerminationOf(result) },
      { text: whole(result.slow) },
      { text: secondsOf(result.hold, "p50", "p90", "max") },
      { text: secondsOf(result.oracle, "p50", "max") },
      { text: whole(result.killed) },
      last,
    ];
  });
  const [, ...others] = columns;
  const [head, rule, ...body] = grid([{ title, align: "left" }, ...others], rows, width);
  return [paint("bold", head!), paint("dim", rule!), ...body];
}

function notes(remedies: readonly RemedyResult[], width: number, more: readonly string[] = []): string[] {
  const said = [
    "pods: terminated. lost: on new + on pooled connections. lost per pod: mean and 95 % interval per termination, of fewer than " +
      `${few} mean and (least..most); after 0, the share of terminations that may yet lose something (95 %). ` +
      "hold: p50/p90/max until the pod stopped accepting. oracle: p50/max until the last sender " +
      "had let go of it.",
    ...reservations(remedies),
    ...more,
  ];
  return ["", ...said.flatMap((note) => wrap(note, width, "", "  "))];
}

/** Causes shown per remedy; the rest is in the results document. */
const shown = 3;

function why(remedies: readonly RemedyResult[], paint: Paint, width: number): string[] {
  const losers = remedies.filter((one) => one.lost > 0);
  if (losers.length === 0) return [];
  const lines = losers.flatMap((result) => {
    const all = whyOf(result);
    const rest = all.slice(shown).reduce((sum, one) => sum + one.lost, 0);
    return [
      `  ${paint("bold", result.remedy)}`,
      ...all.slice(0, shown).flatMap(({ cause, words, lost, example, sender }) => {
        const by = sender.lost < lost ? `, ${whole(sender.lost)} of them by ${sender.name}` : "";
        const name = cause.startsWith("C") ? `${cause} ${words}` : words;
        return [
          `    ${paint("red", whole(lost).padStart(6))}  ${name}${by}`,
          ...wrap(`e.g. ${example.sentence}`, width, " ".repeat(12), " ".repeat(12)),
        ];
      }),
      ...(rest > 0 ? [`    ${whole(rest).padStart(6)}  by other causes`] : []),
    ];
  });
  return ["", paint("bold", "Why"), ...lines];
}
