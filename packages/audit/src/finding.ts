import type { Edit, Field } from "@lameduck/manifests";
import type { Amount } from "./model/amount.ts";
import type { KubeObject } from "./model/object.ts";

/** `unknown`: a question that only somebody else can answer. It is never a pass. */
export type Severity = "error" | "warning" | "info" | "unknown";

export const severities: readonly Severity[] = ["error", "warning", "info", "unknown"];

export interface Arithmetic {
  /** "20 preStop + 25 drain + 2 reserve = 47 > 30 grace" */
  readonly sum: string;
  readonly terms: readonly Amount[];
}

export interface Fix {
  /** What it does, in a few words. */
  readonly does: string;
  readonly edits: readonly Edit[];
}

/** What a rule finds in one workload. */
export interface RuleFinding {
  readonly severity: Severity;
  /** One sentence, without a full stop. */
  readonly message: string;
  readonly at: Field;
  readonly container?: string;
  readonly arithmetic?: Arithmetic;
  /** What to do here, where the rule's own remedy can be made more exact. */
  readonly remedy?: string;
  /** unknown: how to answer it. */
  readonly answers?: readonly string[];
  readonly fix?: Fix;
}

export interface Finding extends RuleFinding {
  readonly rule: string;
  readonly object: KubeObject;
  /** The reason why it is not to be reported. */
  readonly suppressed?: { readonly by: "annotation" | "config" | "baseline"; readonly reason: string };
}
