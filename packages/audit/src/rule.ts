import type { Facts } from "./facts/facts.ts";
import type { Report } from "./finding.ts";
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
  readonly check: (workload: Workload, context: Context) => Iterable<Report>;
}
