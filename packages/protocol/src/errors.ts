import { errorClass } from "@lameduck/drain/common";

/** Every way in which the operator can be asked for wrongly. */
export const operatorErrors = {
  LAMEDUCK_OPERATOR_BAD_POLICY: "correct the field; docs/operate/inject.md lists the fields of a DrainPolicy",
  LAMEDUCK_OPERATOR_BAD_ANNOTATION: "correct the annotation; docs/operate/inject.md lists all annotations",
  LAMEDUCK_OPERATOR_BAD_CERTIFICATE:
    "mount a Secret with tls.crt and tls.key there, or leave --certificate-directory out",
  LAMEDUCK_OPERATOR_BAD_FLAG: "correct the flag; `--help` lists all flags",
  LAMEDUCK_OPERATOR_NO_INIT_VOLUME:
    "let --init-directory name a folder with lameduck-init, or leave the flag out",
  LAMEDUCK_OPERATOR_FOREIGN_INIT_VOLUME:
    "rename that ConfigMap: the operator needs this name for its own; until then pods run without the hold",
  LAMEDUCK_OPERATOR_UNREADABLE_CONSUMER:
    "docs/operate/watchers.md says what the watcher needs for it; until then nothing is reported as applied",
  LAMEDUCK_OPERATOR_OTHER_VERSION:
    "bring image, watchers and pods to releases one apart (docs/operate/upgrade.md); until then pods decide by their own evidence",
  LAMEDUCK_OPERATOR_CANNOT_EDIT:
    "replace anchors, aliases, merge keys and tags in the pod template by what they stand for",
} as const;

/** `code` is stable, `place` is the file, field or annotation, `remedy` says what to do. */
export class OperatorError extends errorClass(operatorErrors) {}
