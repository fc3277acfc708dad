import { LameduckError } from "@lameduck/drain/common";

/** Every way an audit can be asked for wrongly. Mistakes in manifests are told by packages/manifests. */
export const auditErrors = {
  LAMEDUCK_AUDIT_UNREADABLE: "name a file or a folder that exists and may be read, or - for stdin",
  LAMEDUCK_AUDIT_NO_NAMESPACE: "name one that exists: `kubectl get namespaces` lists them",
  LAMEDUCK_AUDIT_NOT_PERMITTED: "ask for the right to list them: what may not be read is not audited",
  LAMEDUCK_AUDIT_BAD_ANNOTATION: "correct the annotation: docs/audit.md lists them",
  LAMEDUCK_AUDIT_BAD_CONFIG: "correct the configuration file: docs/audit.md describes it",
  LAMEDUCK_AUDIT_BAD_BASELINE: "write the baseline anew: --baseline FILE --write-baseline",
  LAMEDUCK_AUDIT_BAD_IMAGE:
    "give a Dockerfile, or what `crane config IMAGE` or `docker inspect IMAGE` print; IMAGE=FILE where it is for one image",
  LAMEDUCK_AUDIT_UNKNOWN_RULE: "see `lameduck audit --rules` for the names",
} as const;

export type AuditErrorCode = keyof typeof auditErrors;

/** `code` is stable, `place` is the file or the option, `remedy` says what to do. */
export class AuditError extends LameduckError<AuditErrorCode> {
  constructor(code: AuditErrorCode, place: string, problem: string) {
    super(auditErrors, code, place, problem);
  }
}
