import { AuditError, baselined, fingerprintOf, type Audit } from "@lameduck/audit";
import { fileProblem } from "@lameduck/drain/common";
import { readFileSync } from "node:fs";

/** Findings that were there when it was written. @throws {AuditError} LAMEDUCK_AUDIT_BAD_BASELINE */
export function readBaseline(file: string | undefined): ReadonlySet<string> {
  if (file === undefined) return new Set();
  const fail = (problem: string): never => {
    throw new AuditError("LAMEDUCK_AUDIT_BAD_BASELINE", file, problem);
  };
  let document: unknown;
  try {
    document = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    return fail(fileProblem(error));
  }
  const { version, findings } = (document ?? {}) as { version?: unknown; findings?: unknown };
  if (version !== 1 || !Array.isArray(findings)) return fail("is no baseline of version 1");
  return new Set(
    findings.flatMap((one: { fingerprint?: unknown; severity?: unknown }) =>
      baselined(String(one?.fingerprint), one?.severity),
    ),
  );
}

/** One line for each finding, so that a review shows which ones came and went. */
export function baselineText({ findings }: Audit): string {
  const lines = findings.map((finding) =>
    JSON.stringify({
      fingerprint: fingerprintOf(finding),
      rule: finding.rule,
      severity: finding.severity,
      workload: finding.object.name,
    }),
  );
  return `{\n"version": 1,\n"findings": [\n${lines.join(",\n")}\n]\n}\n`;
}
