import type { Audit } from "../audit.ts";
import { severities, type Finding, type Severity } from "../finding.ts";
import { spell } from "../model/object.ts";
import { ruleNamed } from "../rules/index.ts";
import { countBySeverity } from "./totals.ts";

interface NamespaceRow {
  readonly namespace: string;
  readonly workloads: number;
  readonly counts: Readonly<Record<Severity, number>>;
}

export interface RuleRow {
  readonly rule: string;
  readonly title: string;
  readonly counts: Readonly<Record<Severity, number>>;
  /** The worst first. */
  readonly findings: readonly Finding[];
  /** How many workloads they are of. */
  readonly workloads: number;
}

/** By namespace, the worst first. */
export function byNamespace({ findings, inventory }: Audit): NamespaceRow[] {
  const workloads = Map.groupBy(inventory.workloads, ({ object }) => object.namespace);
  const found = Map.groupBy(findings, ({ object }) => object.namespace);
  return [...workloads]
    .map(([namespace, own]) => ({
      namespace,
      workloads: own.length,
      counts: countBySeverity({ findings: found.get(namespace) ?? [] }),
    }))
    .sort((a, b) => compareCounts(a.counts, b.counts) || a.namespace.localeCompare(b.namespace));
}

/** By rule, the worst first. */
export function byRule({ findings }: Audit): RuleRow[] {
  return [...Map.groupBy(findings, ({ rule }) => rule)]
    .map(([rule, all]) => ({
      rule,
      title: ruleNamed(rule)?.title ?? rule,
      counts: countBySeverity({ findings: all }),
      findings: worstFirst(all),
      workloads: new Set(all.map(({ object }) => spell(object))).size,
    }))
    .sort((a, b) => compareCounts(a.counts, b.counts));
}

/** In the order of places where they are as severe. */
export function worstFirst(findings: readonly Finding[]): Finding[] {
  return findings.toSorted((a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity));
}

function compareCounts(a: NamespaceRow["counts"], b: NamespaceRow["counts"]): number {
  return severities.map((severity) => b[severity] - a[severity]).find((one) => one !== 0) ?? 0;
}
