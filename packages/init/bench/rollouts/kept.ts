/** Each cell's result is a file of its own, so that the table can be measured in parts. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { mergeRuns, type RemedyResult } from "@lameduck/accounting";
import type { Cell } from "./cells.ts";

export interface Kept {
  readonly cell: Cell;
  readonly recordedAt: string;
  readonly requestsPerSecond: number;
  readonly replicas: number;
  readonly result: RemedyResult;
}

export function fileOf({ software, launcher }: Cell): string {
  return join(import.meta.dirname, "results", `${software}.${launcher.replaceAll(" ", "-")}.json`);
}

export function read(cell: Cell): Kept | undefined {
  try {
    return JSON.parse(readFileSync(fileOf(cell), "utf8")) as Kept;
  } catch {
    return undefined;
  }
}

/** Of thousands of lost requests the first tell what the others do; all of them would be megabytes. */
const examples = 50;

/** Only what has all its lost requests can be added to. */
export function isWhole({ result }: Kept): boolean {
  return result.lost === result.lostRequests.length;
}

/** Adds to what was measured before; pictures of the past are not kept. */
export function keep(kept: Kept, before: Kept | undefined): Kept {
  const { timeline: _, ...whole } = before ? mergeRuns([before.result, kept.result], 1) : kept.result;
  const result = { ...whole, lostRequests: whole.lostRequests.slice(0, examples) };
  const file = fileOf(kept.cell);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify({ ...kept, result }, null, 2)}\n`);
  return { ...kept, result };
}
