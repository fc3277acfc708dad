import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { launchers } from "./cells.ts";
import type { Kept } from "./kept.ts";
import { markdownTable, pageWithin } from "../../../../scripts/format-page.ts";

const docs = fileURLToPath(new URL("../../../../docs/evidence/comparison.md", import.meta.url));

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

export const tableOf = (all: readonly Kept[]): string => markdownTable(titles, all.map(rowOf));

/** Puts the table where docs/evidence/comparison.md has its marks. */
export async function writeToDocs(table: string): Promise<void> {
  writeFileSync(docs, await pageWithin(readFileSync(docs, "utf8"), "rollouts", table));
}
