import { applyEdits } from "@lameduck/manifests";
import { audit, type Audit, type AuditOptions, type InputFile } from "../audit.ts";
import type { Finding } from "../finding.ts";
import { fingerprintOf } from "../suppress/suppress.ts";

/** What `--fix` would write. */
export interface FixPlan {
  /** Files that change. */
  readonly files: readonly { readonly before: InputFile; readonly after: InputFile }[];
  readonly applied: readonly Finding[];
  /** Left out: the edit did not mend its finding, or made something else worse. */
  readonly dropped: readonly Finding[];
  /** The audit of the files as they are after it. */
  readonly audit: Audit;
}

/** Applies one fix of each workload at a time, and audits the result again before it goes on. */
export function fixesOf(first: Audit, options: AuditOptions): FixPlan {
  const applied: Finding[] = [];
  const dropped = new Map<string, Finding>();
  let current = first;
  for (;;) {
    const before = byWorkload(current);
    const chosen = [...before].flatMap(([workload, findings]) => {
      const finding = findings.find((one) => one.fix && !dropped.has(keyOf(workload, one)));
      return finding === undefined ? [] : [{ workload, finding }];
    });
    if (chosen.length === 0) break;
    const next = audit(
      edited(
        current.files,
        chosen.map(({ finding }) => finding),
      ),
      options,
    );
    const after = byWorkload(next);
    const isBetter = ({ workload, finding }: (typeof chosen)[number]): boolean =>
      next.failures.length <= current.failures.length &&
      isMended(finding, before.get(workload) ?? [], after.get(workload) ?? []);
    const failed = chosen.filter((one) => !isBetter(one));
    for (const { workload, finding } of failed) dropped.set(keyOf(workload, finding), finding);
    if (failed.length > 0) continue;
    // A second fix of the same finding would be a fix that does not hold.
    for (const { workload, finding } of chosen) {
      applied.push(finding);
      dropped.set(keyOf(workload, finding), finding);
    }
    current = next;
  }
  const files = first.files.flatMap((before, index) => {
    const after = current.files[index];
    return after === undefined || after.text === before.text ? [] : [{ before, after }];
  });
  const kept = new Set(applied);
  return { files, applied, dropped: [...dropped.values()].filter((one) => !kept.has(one)), audit: current };
}

/** By its number among all objects, which no fix changes: two environments may hold the same object, even in one file. */
function byWorkload({ inventory, findings }: Audit): Map<number, Finding[]> {
  const numbers = new Map(inventory.objects.map((object, index) => [object, index]));
  const all = new Map<number, Finding[]>();
  for (const finding of findings) {
    const number = numbers.get(finding.object) ?? -1;
    const known = all.get(number);
    if (known) known.push(finding);
    else all.set(number, [finding]);
  }
  return all;
}

function keyOf(workload: number, finding: Finding): string {
  return `${workload} ${fingerprintOf(finding)}`;
}

/** Edits that overlap with those of another workload (an anchor that both use) leave their file as it is. */
function edited(files: readonly InputFile[], findings: readonly Finding[]): InputFile[] {
  const edits = findings.flatMap(({ fix }) => fix?.edits ?? []);
  return files.map((one) => {
    const own = edits.filter(({ file }) => file === one.name);
    return { ...one, text: applyEdits(one.text, own) ?? one.text };
  });
}

/** The finding is gone, and its workload has no error that it had not before. */
function isMended(finding: Finding, before: readonly Finding[], after: readonly Finding[]): boolean {
  const known = before.filter(isError).map(ruleAndContainer);
  const isGone = !after.some(
    (one) => ruleAndContainer(one) === ruleAndContainer(finding) && one.severity === finding.severity,
  );
  return isGone && after.filter(isError).every((one) => known.includes(ruleAndContainer(one)));
}

function isError({ severity }: Finding): boolean {
  return severity === "error";
}

function ruleAndContainer({ rule, container }: Finding): string {
  return `${rule} ${container ?? ""}`;
}
