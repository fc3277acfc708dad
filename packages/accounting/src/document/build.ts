import type { RemedyResult, Results } from "../model/results.ts";
import { resultsVersion } from "./schema.ts";

export interface ResultsParts {
  readonly tool: Results["tool"];
  /** Release of Lameduck. */
  readonly version: string;
  readonly startedAt: Date;
  readonly seed: number;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly remedies: readonly RemedyResult[];
}

export function buildResults({ startedAt, ...parts }: ResultsParts): Results {
  return { schema: resultsVersion, ...parts, startedAt: startedAt.toISOString() };
}
