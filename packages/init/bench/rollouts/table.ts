import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { launchers } from "./cells.ts";
import type { Kept } from "./kept.ts";

const docs = fileURLToPath(new URL("../../../../docs/evidence/comparison.md", import.meta.url));
const [begin, end] = [
  "<!-- rollouts: npx node packages/init/bench/rollouts.ts --write -->",
  "<!-- end of rollouts -->",
];

const seconds = (milliseconds: number): string => (milliseconds / 1_000).toFixed(1);

/** What the hold's median may be: one and a half times the oracle, and a second. */
function boundOf({ result: { oracle } }: Kept): number {
  return 1.5 * oracle.p50 + 1_000;
}

function rowOf(kept: Kept): string[] {
  const { cell, result } = kept;
  const { hold, oracle, terminations, sent, lostNew, lostPooled } = result;
  return [
    cell.software,
    launchers[cell.launcher]?.description ?? cell.launcher,
    String(terminations),
    String(sent),
    String(lostNew),
    String(lostPooled),
    `${seconds(hold.p50)} / ${seconds(hold.p90)} / ${seconds(hold.max)}`,
    seconds(oracle.p50),
    cell.launcher.startsWith("lameduck") ? seconds(boundOf(kept)) : "",
  ];
}

const titles = [
  "software",
  "what stands before it",
  "terminations",
  "requests",
  "lost, new connections",
  "lost, pooled",
  "hold s, p50 / p90 / max",
  "oracle s, p50",
  "1.5 oracle + 1",
];

/** As Markdown, in columns of equal width, as prettier would write it. */
export function tableOf(all: readonly Kept[]): string {
  const rows = all.map(rowOf);
  const widths = titles.map((title, column) =>
    Math.max(...[title, ...rows.map((row) => row[column]!)].map((cell) => cell.length)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`;
  return [line(titles), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}

/** Puts the table where docs/evidence/comparison.md has its marks. */
export function writeToDocs(table: string): void {
  const text = readFileSync(docs, "utf8");
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`docs/evidence/comparison.md has no ${begin} ... ${end}`);
  writeFileSync(docs, `${text.slice(0, from)}${begin}\n\n${table}\n\n${text.slice(to)}`);
}
