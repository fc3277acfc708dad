import { annotation } from "../facts/facts.ts";
import { AuditError } from "../errors.ts";
import { severities, type Finding, type Severity } from "../finding.ts";
import { spell } from "../model/object.ts";
import type { Workload } from "../model/workload.ts";
import { createHash } from "node:crypto";

/** Findings that the team knows of and lives with. */
export interface Suppressions {
  readonly ignored: readonly Ignored[];
  /** Findings that were there when the baseline was written: see `baselined`. */
  readonly baseline: ReadonlySet<string>;
}

/** An entry of the configuration file. */
export interface Ignored {
  readonly rule: string;
  /** "Deployment shop/web"; undefined for all. */
  readonly workload?: string | undefined;
  readonly reason: string;
}

export const nothingSuppressed: Suppressions = { ignored: [], baseline: new Set() };

/** `lameduck.dev/ignore-RULE: REASON` on the workload or its pods, then the configuration, then the baseline. */
export function suppressionOf(
  finding: Finding,
  workload: Workload,
  { ignored, baseline }: Suppressions,
): Finding["suppressed"] {
  const field = annotation(workload, `ignore-${finding.rule}`);
  if (field.exists) {
    const reason = field.text()?.trim() ?? "";
    if (reason === "" || reason === "true")
      throw new AuditError(
        "LAMEDUCK_AUDIT_BAD_ANNOTATION",
        field.place,
        `lameduck.dev/ignore-${finding.rule}: its value must be the reason`,
      );
    return { by: "annotation", reason };
  }
  const name = spell(workload.object);
  const entry = ignored.find((one) => one.rule === finding.rule && (one.workload ?? name) === name);
  if (entry) return { by: "config", reason: entry.reason };
  return baseline.has(`${fingerprintOf(finding)} ${finding.severity}`)
    ? { by: "baseline", reason: "in the baseline" }
    : undefined;
}

/** What a baseline leaves out for a finding that it holds: the same, as severe or less. A question that is answered is a new finding. */
export function baselined(fingerprint: string, severity: unknown): string[] {
  const from = severities.indexOf(severity as Severity);
  return severities.slice(Math.max(0, from)).map((one) => `${fingerprint} ${one}`);
}

/** The same for the same finding, wherever its lines and its file have moved. */
export function fingerprintOf({ rule, object, container, at }: Finding): string {
  const identity = JSON.stringify([rule, object.type, spell(object), container ?? "", at.path]);
  return createHash("sha256").update(identity).digest("hex").slice(0, 32);
}
