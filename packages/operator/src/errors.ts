import { LameduckError } from "@lameduck/drain/common";

/** Every way in which the operator can be asked for wrongly. */
export const operatorErrors = {
  LAMEDUCK_OPERATOR_BAD_POLICY: "correct the field of the DrainPolicy: docs/inject.md lists them",
  LAMEDUCK_OPERATOR_BAD_ANNOTATION: "correct the annotation: docs/inject.md lists them",
  LAMEDUCK_OPERATOR_BAD_CERTIFICATE:
    "mount a Secret with tls.crt and tls.key there, or leave --certificate-directory out",
  LAMEDUCK_OPERATOR_BAD_FLAG: "correct it: `--help` and docs/operator.md list the flags",
  LAMEDUCK_OPERATOR_NO_CARRIER: "give --carrier-directory a folder with lameduck-init, or leave it out",
  LAMEDUCK_OPERATOR_FOREIGN_CARRIER:
    "give that ConfigMap another name: the operator keeps its own under this one, and pods run without the drain until then",
  LAMEDUCK_OPERATOR_UNREADABLE_CONSUMER:
    "docs/consumers.md says what it takes to read it; nothing is reported as applied until then",
  LAMEDUCK_OPERATOR_CANNOT_EDIT:
    "write out what anchors, aliases and merge keys stand for in the pod template",
} as const;

export type OperatorErrorCode = keyof typeof operatorErrors;

/** `code` is stable, `place` is the file, field or annotation, `remedy` says what to do. */
export class OperatorError extends LameduckError<OperatorErrorCode> {
  /** @param options with a remedy where a better one is known than the catalogue's. */
  constructor(
    code: OperatorErrorCode,
    place: string,
    problem: string,
    { remedy = operatorErrors[code], ...options }: ErrorOptions & { readonly remedy?: string } = {},
  ) {
    super({ ...operatorErrors, [code]: remedy }, code, place, problem, options);
  }
}
