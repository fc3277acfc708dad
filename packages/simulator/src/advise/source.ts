import type { ScenarioFlags } from "../scenario/flags.ts";
import type { ScenarioFile } from "../scenario/schema.ts";

/** What a manifest or a recording says, as far as advice needs it. */
export interface Source {
  readonly scenario: ScenarioFile;
  /** The container that serves, where a manifest names it. */
  readonly container?: string;
  /** What it leaves open although the advice depends on it, with the flag that answers it. */
  readonly unknown: readonly { readonly sentence: string; readonly answer: keyof ScenarioFlags }[];
}
