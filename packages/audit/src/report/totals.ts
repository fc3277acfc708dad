import type { Audit } from "../audit.ts";
import { severities, type Severity } from "../finding.ts";
import { spell } from "../model/object.ts";
import type { Workload } from "../model/workload.ts";
import { rules } from "../rules/index.ts";
import { counted, notJudged } from "./not-judged.ts";

export function countBySeverity({ findings }: Pick<Audit, "findings">): Readonly<Record<Severity, number>> {
  const counts = Object.fromEntries(severities.map((severity) => [severity, 0])) as Record<Severity, number>;
  for (const { severity } of findings) counts[severity] += 1;
  return counts;
}

/** The word for a severity in texts for people. */
export function labelOf(severity: Severity): string {
  return severity === "info" ? "note" : severity;
}

/** "1 error, 2 unknown in 3 workloads. Not looked into: 4 ConfigMap." */
export function totals(audit: Audit): string {
  const { findings, suppressed, failures, inventory } = audit;
  const counts = countBySeverity(audit);
  const found = severities
    .filter((severity) => counts[severity] > 0)
    .map((severity) => plural(counts[severity], labelOf(severity), severity !== "unknown"));
  const workloads = inventory.workloads.length;
  const what = findings.length === 0 ? "no findings" : found.join(", ");
  return [
    workloads === 0 ? "There is no workload to audit." : `${what} in ${plural(workloads, "workload")}.`,
    ...(suppressed.length > 0 ? [`${suppressed.length} suppressed.`] : []),
    ...(failures.length > 0 ? [`Not read: ${failures.length}, see the errors.`] : []),
    ...(inventory.skipped.size > 0 ? [`Not looked into: ${counted(inventory.skipped)}.`] : []),
    ...notJudged(inventory, "audit"),
    ...inventory.workloads.flatMap((one) => [...ofWindows(one)]),
  ].join(" ");
}

function* ofWindows({ object, windows }: Workload): Iterable<string> {
  const left = rules.filter(({ isOfLinux }) => isOfLinux).map(({ id }) => id);
  if (windows !== undefined)
    yield `${spell(object)} is for Windows (${windows}): ${left.join(", ")} do not apply to it.`;
}

function plural(count: number, noun: string, takesS = true): string {
  return `${count} ${noun}${count === 1 || !takesS ? "" : "s"}`;
}
