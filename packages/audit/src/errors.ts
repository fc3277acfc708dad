import { errorClass } from "@lameduck/drain/common";

/** Mistakes in the use of the audit. Mistakes in manifests are errors of packages/manifests. */
export const auditErrors = {
  LAMEDUCK_AUDIT_UNREADABLE:
    "name a file of UTF-8 text or a folder that exists and may be read, or - for stdin",
  LAMEDUCK_AUDIT_CHART: "render the chart: helm template CHART | lameduck audit -",
  LAMEDUCK_AUDIT_NO_NAMESPACE: "name an existing namespace: `kubectl get namespaces` lists them",
  LAMEDUCK_AUDIT_NOT_PERMITTED:
    "ask an administrator for the right to list them: the audit leaves out what it may not read",
  LAMEDUCK_AUDIT_BAD_ANNOTATION: "correct the annotation; docs/tools/audit.md lists all annotations",
  LAMEDUCK_AUDIT_BAD_CONFIG: "correct the configuration file; docs/tools/audit.md describes it",
  LAMEDUCK_AUDIT_BAD_BASELINE:
    "name a baseline that is there, or write one: lameduck audit PATHS --baseline FILE --write",
  LAMEDUCK_AUDIT_BAD_IMAGE:
    "give a Dockerfile, or the output of `crane config IMAGE` or `docker inspect IMAGE`; write IMAGE=FILE if it is for one image",
  LAMEDUCK_AUDIT_UNKNOWN_RULE: "see `lameduck help rules` for the names",
} as const;

/** `code` is stable, `place` is the file or the option, `remedy` says what to do. */
export class AuditError extends errorClass(auditErrors) {}
