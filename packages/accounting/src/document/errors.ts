import { LameduckError } from "@lameduck/drain/common";

/** Every way a results document can be unfit for reading, with what to do about it. The same codes stand in docs/errors.md. */
export const resultsErrors = {
  LAMEDUCK_RESULTS_NOT_JSON: "give the file that --json wrote, whole",
  LAMEDUCK_RESULTS_VERSION: "read it with the release of Lameduck that wrote it, or measure again",
  LAMEDUCK_RESULTS_INVALID: "correct the field at the place named; docs/results.md explains every field",
} as const;

export type ResultsErrorCode = keyof typeof resultsErrors;

/** `code` is stable, `place` is the file and the field, `remedy` says what to do. */
export class ResultsError extends LameduckError<ResultsErrorCode> {
  constructor(code: ResultsErrorCode, place: string, problem: string) {
    super(resultsErrors, code, place, problem);
  }
}
