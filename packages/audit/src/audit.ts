import { ManifestError, type Stream } from "@lameduck/manifests";
import { AuditError } from "./errors.ts";
import type { Facts } from "./facts/facts.ts";
import type { Finding, Severity } from "./finding.ts";
import type { Images } from "./model/images.ts";
import type { Inventory } from "./model/inventory.ts";
import type { Workload } from "./model/workload.ts";
import { inOneGo, readInSteps, type InputFile } from "./reading.ts";
import type { Context, Rule } from "./rule.ts";
import { rules } from "./rules/index.ts";
import { wrongAnnotations } from "./suppress/annotations.ts";
import { suppressionOf, type Suppressions } from "./suppress/suppress.ts";

export interface AuditOptions {
  readonly images: Images;
  readonly facts: Facts;
  /** Minor version of the cluster, such as 34. */
  readonly kubernetes: number | undefined;
  readonly suppressions: Suppressions;
  /** Severities that a team has set for rules. A finding that is unknown stays unknown. */
  readonly severities?: ReadonlyMap<string, Severity> | undefined;
  /** Types that a cluster did not let us list. */
  readonly notRead?: ReadonlySet<string> | undefined;
  /** Without it, all rules. */
  readonly rules?: readonly Rule[] | undefined;
  /** Files that were read before, and have not changed since. */
  readonly known?: WeakMap<InputFile, Stream>;
}

export interface Audit {
  readonly files: readonly InputFile[];
  readonly inventory: Inventory;
  readonly findings: readonly Finding[];
  /** Findings that somebody has decided to live with, each with the reason. */
  readonly suppressed: readonly Finding[];
  /** What could not be read. The rest is audited all the same. */
  readonly failures: readonly (ManifestError | AuditError)[];
}

/** All rules over all workloads of the files. */
export function audit(files: readonly InputFile[], options: AuditOptions): Audit {
  return inOneGo(auditInSteps(files, options));
}

/** The same audit in steps of one file or one workload, between which the caller can let other work run. */
export function* auditInSteps(files: readonly InputFile[], options: AuditOptions): Generator<void, Audit> {
  const { inventory, failures: unreadable } = yield* readInSteps(files, options);
  yield;
  const texts = new Map(files.map(({ name, text }) => [name, text]));
  const context: Context = { inventory, ...options, textOf: (file) => texts.get(file) ?? "" };
  const failures: (ManifestError | AuditError)[] = [...unreadable];
  const all: Finding[] = [];
  for (const workload of inventory.workloads) {
    failures.push(...wrongAnnotations(workload));
    for (const rule of (options.rules ?? rules).filter((one) => !one.isOfLinux || !workload.windows)) {
      try {
        all.push(...findingsOf(rule, workload, context, options));
      } catch (error) {
        if (!(error instanceof ManifestError || error instanceof AuditError)) throw error;
        failures.push(error);
      }
    }
    yield;
  }
  return {
    files,
    inventory,
    findings: all.filter(({ suppressed }) => suppressed === undefined).sort(byPlace),
    suppressed: all.filter(({ suppressed }) => suppressed !== undefined).sort(byPlace),
    failures: distinct(failures),
  };
}

function findingsOf(
  rule: Rule,
  workload: Workload,
  context: Context,
  { suppressions, severities }: AuditOptions,
): Finding[] {
  return [...rule.check(workload, context)].map((report) => {
    const severity =
      report.severity === "unknown" ? "unknown" : (severities?.get(rule.id) ?? report.severity);
    const finding: Finding = { ...report, severity, rule: rule.id, object: workload.object };
    const suppressed = suppressionOf(finding, workload, suppressions);
    return suppressed ? { ...finding, suppressed } : finding;
  });
}

function byPlace(a: Finding, b: Finding): number {
  return a.at.source.file.localeCompare(b.at.source.file) || a.at.span[0] - b.at.span[0];
}

/** The same mistake is met by several rules. */
function distinct<E extends Error>(errors: readonly E[]): E[] {
  return [...new Map(errors.map((error) => [error.message, error])).values()];
}
