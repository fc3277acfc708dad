import { applyEdits, type Stream } from "@lameduck/manifests";
import { audit, type Audit, type AuditOptions } from "./audit.ts";
import type { InputFile } from "./reading.ts";
import { severities, type Finding } from "./finding.ts";
import type { KubeObject } from "./model/object.ts";
import { fingerprintOf } from "./suppress/suppress.ts";

/** What `--fix` would write. */
export interface FixPlan {
  /** Files that change. */
  readonly files: readonly { readonly before: InputFile; readonly after: InputFile }[];
  readonly applied: readonly Finding[];
  /** Keys of what was left out: the edit did not mend its finding, or made something else worse. */
  readonly dropped: ReadonlySet<string>;
  /** The audit of the files as they are after it. */
  readonly audit: Audit;
}

/** Applies one fix of each workload at a time, and audits the result again before it goes on. */
export function fixesOf(first: Audit, given: AuditOptions): FixPlan {
  const options = { ...given, known: given.known ?? new WeakMap<InputFile, Stream>() };
  const applied: Finding[] = [];
  let dropped = new Set<string>();
  let current = audit(first.files, options);
  // Findings that were left out of the first audit stay as they are, and are no news after a fix.
  const done = new Set(keysOf(current));
  for (const key of keysOf(first)) done.delete(key);
  for (;;) {
    const before = byWorkload(current);
    const chosen = [...before].flatMap(([workload, findings]) => {
      const finding = findings.find(
        (one) => one.fix && !dropped.has(keyOf(workload, one)) && !done.has(keyOf(workload, one)),
      );
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
    for (const { workload, finding } of failed) dropped.add(keyOf(workload, finding));
    if (failed.length > 0) continue;
    // A second fix of the same finding would be a fix that does not hold. What did no good before may do some now.
    for (const { workload, finding } of chosen) {
      applied.push(finding);
      done.add(keyOf(workload, finding));
    }
    dropped = new Set();
    current = next;
  }
  const files = first.files.flatMap((before, index) => {
    const after = current.files[index];
    return after === undefined || after.text === before.text ? [] : [{ before, after }];
  });
  return { files, applied, dropped, audit: current };
}

/** The same findings, without the fixes that would cause others. */
export function withHarmlessFixes(audited: Audit, options: AuditOptions): Audit {
  if (!audited.findings.some(({ fix }) => fix)) return audited;
  const { dropped } = fixesOf(audited, options);
  const numbers = numbersOf(audited);
  return {
    ...audited,
    findings: audited.findings.map((finding) => {
      if (!dropped.has(keyOf(numbers.get(finding.object) ?? -1, finding))) return finding;
      const { fix: _, ...others } = finding;
      return others;
    }),
  };
}

/** Of all objects, which no fix changes: two environments may hold the same object, even in one file. */
function numbersOf({ inventory }: Audit): ReadonlyMap<KubeObject, number> {
  return new Map(inventory.objects.map((object, index) => [object, index]));
}

function byWorkload(audited: Audit): Map<number, Finding[]> {
  const numbers = numbersOf(audited);
  return Map.groupBy(audited.findings, ({ object }) => numbers.get(object) ?? -1);
}

function* keysOf(audited: Audit): Iterable<string> {
  for (const [workload, findings] of byWorkload(audited))
    for (const one of findings) yield keyOf(workload, one);
}

function keyOf(workload: number, finding: Finding): string {
  return `${workload} ${fingerprintOf(finding)}`;
}

/** Edits that overlap with those of another workload (an anchor that both use) leave their file as it is. */
function edited(files: readonly InputFile[], findings: readonly Finding[]): InputFile[] {
  const edits = findings.flatMap(({ fix }) => fix?.edits ?? []);
  return files.map((one) => {
    const own = edits.filter(({ file }) => file === one.name);
    return own.length === 0 ? one : { ...one, text: applyEdits(one.text, own) ?? one.text };
  });
}

/** The finding is gone or less severe, and its workload has none that it had not before, of whatever severity. */
function isMended(finding: Finding, before: readonly Finding[], after: readonly Finding[]): boolean {
  const rule = ruleAndContainer(finding);
  const isGone = !after.some((one) => ruleAndContainer(one) === rule && one.severity === finding.severity);
  const [had, has] = [bySeverity(before), bySeverity(after)];
  return (
    isGone &&
    [...has].every(([key, counts]) => counts.every((count, index) => count <= (had.get(key)?.[index] ?? 0)))
  );
}

/** For each rule and container: how many findings there are as severe as each severity, or more. A question is less than any answer. */
function bySeverity(findings: readonly Finding[]): Map<string, number[]> {
  const all = new Map<string, number[]>();
  for (const finding of findings) {
    const key = ruleAndContainer(finding);
    const counts = all.get(key) ?? severities.map(() => 0);
    for (let at = severities.indexOf(finding.severity); at < severities.length; at++) counts[at]! += 1;
    all.set(key, counts);
  }
  return all;
}

function ruleAndContainer({ rule, container }: Finding): string {
  return `${rule} ${container ?? ""}`;
}
