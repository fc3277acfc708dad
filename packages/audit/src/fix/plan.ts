import { applyEdits } from "@lameduck/manifests";
import { audit, type Audit, type AuditOptions, type InputFile } from "../audit.ts";
import type { Finding } from "../finding.ts";
import { spell } from "../model/object.ts";
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
    const chosen = onePerWorkload(
      current.findings.filter((one) => one.fix && !dropped.has(fingerprintOf(one))),
    );
    if (chosen.length === 0) break;
    const next = audit(edited(current.files, chosen), options);
    const failed = chosen.filter((finding) => !isBetter(finding, current, next));
    for (const finding of failed) dropped.set(fingerprintOf(finding), finding);
    if (failed.length > 0) continue;
    applied.push(...chosen);
    // A second fix of the same finding would be a fix that does not hold.
    for (const finding of chosen) dropped.set(fingerprintOf(finding), finding);
    current = next;
  }
  const files = first.files.flatMap((before, index) => {
    const after = current.files[index];
    return after === undefined || after.text === before.text ? [] : [{ before, after }];
  });
  const kept = new Set(applied);
  return { files, applied, dropped: [...dropped.values()].filter((one) => !kept.has(one)), audit: current };
}

function onePerWorkload(findings: readonly Finding[]): Finding[] {
  const byWorkload = new Map<string, Finding>();
  for (const finding of findings) {
    const name = workloadOf(finding);
    if (!byWorkload.has(name)) byWorkload.set(name, finding);
  }
  return [...byWorkload.values()];
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
function isBetter(finding: Finding, before: Audit, after: Audit): boolean {
  if (after.failures.length > before.failures.length) return false;
  const workload = workloadOf(finding);
  const errors = ({ findings }: Audit): string[] =>
    findings.filter((one) => one.severity === "error" && workloadOf(one) === workload).map(ruleAndContainer);
  const known = errors(before);
  const isGone = !after.findings.some(
    (one) =>
      workloadOf(one) === workload &&
      ruleAndContainer(one) === ruleAndContainer(finding) &&
      one.severity === finding.severity,
  );
  return isGone && errors(after).every((one) => known.includes(one));
}

function workloadOf({ object }: Finding): string {
  return `${object.field.source.file} ${object.type} ${spell(object)}`;
}

function ruleAndContainer({ rule, container }: Finding): string {
  return `${rule} ${container ?? ""}`;
}
