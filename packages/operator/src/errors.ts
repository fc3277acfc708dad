import { LameduckError } from "@lameduck/drain/common";

/** Every way in which the operator can be asked for wrongly. */
export const operatorErrors = {
  LAMEDUCK_OPERATOR_BAD_POLICY: "correct the field of the DrainPolicy: docs/inject.md lists them",
  LAMEDUCK_OPERATOR_BAD_ANNOTATION: "correct the annotation: docs/inject.md lists them",
} as const;

export type OperatorErrorCode = keyof typeof operatorErrors;

/** `code` is stable, `place` is the file, field or annotation, `remedy` says what to do. */
export class OperatorError extends LameduckError<OperatorErrorCode> {
  constructor(code: OperatorErrorCode, place: string, problem: string) {
    super(operatorErrors, code, place, problem);
  }
}
