import type { Cause } from "@lameduck/accounting";
import type { Facts } from "./facts/facts.ts";
import type { RuleFinding } from "./finding.ts";
import type { Inventory } from "./model/inventory.ts";
import type { Workload } from "./model/workload.ts";

/** What rules may ask beside the workload. */
export interface Context {
  readonly inventory: Inventory;
  readonly facts: Facts;
  /** Minor version of the cluster, such as 34; undefined where nobody said. */
  readonly kubernetes: number | undefined;
  /** Types that could not be listed: whether objects of them exist is unknown. */
  readonly notRead?: ReadonlySet<string> | undefined;
  /** Whole text of a file of the input. */
  readonly textOf: (file: string) => string;
}

/** By what a rollout under load shows a fault. */
export interface Symptom {
  /** Requests are lost by one of these causes. */
  readonly causes: readonly Cause[];
  /** SIGKILL at the end of the grace period shows it, too. */
  readonly killed?: true;
}

/** One rule, in one file. */
export interface Rule {
  /** Stable; part of the annotation that suppresses it. */
  readonly id: string;
  /** What is wrong, in a few words. */
  readonly title: string;
  /** What happens to requests, and why. Paragraphs of Markdown. */
  readonly meaning: string;
  readonly remedy: string;
  readonly references: readonly string[];
  /** It knows signals, shells and programs of Linux only. */
  readonly isOfLinux?: true;
  /** Undefined where the lab does not have what the rule speaks of. */
  readonly symptom?: Symptom;
  readonly check: (workload: Workload, context: Context) => Iterable<RuleFinding>;
}
