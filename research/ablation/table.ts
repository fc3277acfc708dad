import type { Mechanism } from "./mechanisms.ts";

/** Means over cells: ms, and requests per termination. */
export interface Total {
  readonly hold: number;
  readonly lost: number;
}

export interface Half {
  readonly half: string;
  readonly cells: number;
  /** By loss budget, the smallest first. */
  readonly whole: readonly Total[];
  /** By mechanism. */
  readonly without: readonly Total[];
}

export function renderAblation(
  mechanisms: readonly Mechanism[],
  halves: readonly Half[],
  usual: number,
  size: string,
): string {
  const columns = halves.flatMap(({ half }) => [
    `${half}: without it`,
    "lost by the whole rule at that hold",
  ]);
  const row = (name: string, cells: readonly string[]): string => `| ${name} | ${cells.join(" | ")} |`;
  return [
    `Hold and lost requests per termination; ${halves.map(({ half, cells }) => `${cells} cells ${half}`).join(", ")}, ${size}.`,
    "",
    row("", columns),
    row(
      "---",
      columns.map(() => "---"),
    ),
    row(
      "the whole rule",
      halves.flatMap(({ whole }) => [text(whole[usual]!), figure(whole[usual]!.lost)]),
    ),
    ...mechanisms.map(({ name }, index) =>
      row(
        name,
        halves.flatMap(({ whole, without }) => {
          const alone = without[index]!;
          return [text(alone), figure(lostAt(whole, alone.hold))];
        }),
      ),
    ),
    "",
  ].join("\n");
}

/** Between budgets, the logarithm of the loss is taken as straight in the hold; beyond them, as that of the nearest. */
function lostAt(whole: readonly Total[], hold: number): number {
  const after = whole.findIndex((total) => total.hold <= hold);
  if (after < 0) return whole.at(-1)!.lost;
  if (after === 0) return whole[0]!.lost;
  const [longer, shorter] = [whole[after - 1]!, whole[after]!];
  const part = (hold - shorter.hold) / (longer.hold - shorter.hold);
  const log = (total: Total): number => Math.log(Math.max(1e-6, total.lost));
  return Math.exp((1 - part) * log(shorter) + part * log(longer));
}

function text({ hold, lost }: Total): string {
  return `${(hold / 1_000).toFixed(2)} s, ${figure(lost)}`;
}

function figure(lost: number): string {
  return lost.toFixed(4);
}
