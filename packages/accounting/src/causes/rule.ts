import type { Cause } from "../model/causes.ts";
import type { Evidence } from "../evidence/evidence.ts";

/** One cause: where it applies it says so in a sentence with the numbers behind it. */
export interface Rule {
  readonly cause: Exclude<Cause, "C10" | "unknown">;
  explain(evidence: Evidence): string | undefined;
}
