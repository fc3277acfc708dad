import type { Prediction, Range } from "./predict.ts";

export interface Measured {
  readonly terminations: number;
  readonly lost: number;
  readonly hold: number;
  /** When the last sender had let go. */
  readonly oracle: number;
}

export interface Compared {
  readonly name: string;
  readonly measured: Measured;
  readonly predicted: Prediction;
  readonly agrees: { readonly lost: boolean; readonly hold: boolean; readonly oracle: boolean };
}

/** Processes take tens of milliseconds to close and to be seen closing; the model's take none. */
const closing = 100;

export function compared(name: string, measured: Measured, predicted: Prediction): Compared {
  return {
    name,
    measured,
    predicted,
    agrees: {
      lost: within(measured.lost, predicted.lost, 0),
      hold: within(measured.hold, predicted.hold, closing),
      oracle: within(measured.oracle, predicted.oracle, closing),
    },
  };
}

function within(value: number, { low, high }: Range, slack: number): boolean {
  return value >= low - slack && value <= high + slack;
}

export function tableOf(rows: readonly Compared[]): string {
  const s = (milliseconds: number): string => (milliseconds / 1_000).toFixed(2);
  const n = (value: number): string => String(+value.toPrecision(3));
  const cell = (value: number, range: Range, agrees: boolean, text: (value: number) => string): string =>
    `${text(value)} in ${text(range.low)} to ${text(range.high)}${agrees ? "" : " **no**"}`;
  return [
    "| scenario | terminations | lost per termination | hold, s | last sender let go, s |",
    "|---|---|---|---|---|",
    ...rows.map(
      ({ name, measured, predicted, agrees }) =>
        `| ${name} | ${measured.terminations} | ${cell(measured.lost, predicted.lost, agrees.lost, n)} | ${cell(measured.hold, predicted.hold, agrees.hold, s)} | ${cell(measured.oracle, predicted.oracle, agrees.oracle, s)} |`,
    ),
    "",
    `In agreement: lost ${count(rows, "lost")}, hold ${count(rows, "hold")}, last sender ${count(rows, "oracle")}, of ${rows.length}.`,
  ].join("\n");
}

function count(rows: readonly Compared[], what: keyof Compared["agrees"]): number {
  return rows.filter(({ agrees }) => agrees[what]).length;
}
