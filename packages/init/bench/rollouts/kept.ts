/** Each cell's result is a file of its own, so that the table can be measured in parts. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { mergeRuns, type RemedyResult } from "@lameduck/rollout";
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

/** Adds to what was measured before; pictures of the past are not kept. */
export function keep(kept: Kept, before: Kept | undefined): Kept {
  const { timeline: _, ...result } = before ? mergeRuns([before.result, kept.result], 1) : kept.result;
  const file = fileOf(kept.cell);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify({ ...kept, result }, null, 2)}\n`);
  return { ...kept, result };
}
