import type { ScenarioFile } from "../scenario/schema.ts";

/** What a manifest or a recording says, as far as advice needs it. */
export interface Source {
  readonly scenario: ScenarioFile;
  /** The container that serves, where a manifest names it. */
  readonly container?: string;
  /** What it leaves open although the advice depends on it, and whether a scenario answers it. */
  readonly unknown: readonly {
    readonly sentence: string;
    readonly isAnswered: (file: ScenarioFile) => boolean;
  }[];
}

/** The value at a path in data of unknown shape. */
export function field(value: unknown, ...path: readonly string[]): unknown {
  let at: unknown = value;
  for (const key of path)
    at = typeof at === "object" && at !== null ? (at as Record<string, unknown>)[key] : undefined;
  return at;
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function positive(value: unknown): number | undefined {
  return typeof value === "number" && value > 0 ? value : undefined;
}
