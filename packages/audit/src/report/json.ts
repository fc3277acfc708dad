import type { Audit } from "../audit.ts";
import type { Finding } from "../finding.ts";
import { spellOrigin, type Amount } from "../model/amount.ts";
import { spell } from "../model/object.ts";
import { rules } from "../rules/index.ts";
import { fingerprintOf } from "../suppress/suppress.ts";
import { regionOf } from "./excerpt.ts";
import { countBySeverity } from "./totals.ts";

/** The version of the document. It is raised when a field changes its meaning or goes. */
const jsonVersion = 1;

/**
 * For scripts: everything that the text says, and what it leaves out.
 * @param proofs what rollouts in the lab have shown, where there were any.
 */
export function jsonReport(audit: Audit, proofs?: readonly unknown[]): string {
  const texts = new Map(audit.files.map(({ name, text }) => [name, text]));
  const textOf = (file: string): string => texts.get(file) ?? "";
  const document = {
    version: jsonVersion,
    totals: {
      workloads: audit.inventory.workloads.length,
      ...countBySeverity(audit),
      suppressed: audit.suppressed.length,
    },
    findings: audit.findings.map((finding) => plain(finding, textOf)),
    suppressed: audit.suppressed.map((finding) => plain(finding, textOf)),
    notRead: audit.failures.map(({ code, place, message, remedy }) => ({ code, place, message, remedy })),
    notLookedInto: sorted(audit.inventory.skipped),
    notApplied: notApplied(audit),
    notJudged: sorted(audit.inventory.unread),
    proofs,
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

/** Rules that know Linux only, by the workload that is for Windows. */
function notApplied({ inventory }: Audit): Readonly<Record<string, readonly string[]>> {
  const left = rules.filter(({ isOfLinux }) => isOfLinux).map(({ id }) => id);
  return Object.fromEntries(
    inventory.workloads.filter(({ windows }) => windows).map(({ object }) => [spell(object), left]),
  );
}

function sorted(counts: ReadonlyMap<string, number>): Readonly<Record<string, number>> {
  return Object.fromEntries([...counts].sort(([a], [b]) => a.localeCompare(b)));
}

function plain(finding: Finding, textOf: (file: string) => string): unknown {
  const { rule, severity, message, object, container, arithmetic, remedy, answers, fix, at, suppressed } =
    finding;
  const { file, line, column, endColumn } = regionOf(at, textOf);
  return {
    rule,
    severity,
    message,
    workload: { type: object.type, kind: object.kind, namespace: object.namespace, name: object.name },
    container,
    at: { file, line, column, endColumn, path: at.path },
    arithmetic: arithmetic && { sum: arithmetic.sum, terms: arithmetic.terms.map(term) },
    remedy,
    answers,
    fix: fix?.does,
    suppressed,
    fingerprint: fingerprintOf(finding),
  };
}

function term({ name, value, origin }: Amount): unknown {
  // JSON has no number for what never ends.
  return { name, value: Number.isFinite(value) ? value : null, origin, spelt: spellOrigin(origin) };
}
