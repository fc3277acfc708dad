import { errorClass } from "@lameduck/drain/common";

/** Every way a results document can be unfit for reading, with what to do about it. The same codes stand in docs/errors.md. */
export const resultsErrors = {
  LAMEDUCK_RESULTS_NOT_JSON: "give the complete file that --json wrote",
  LAMEDUCK_RESULTS_VERSION: "use the release of Lameduck that wrote it, or measure again",
  LAMEDUCK_RESULTS_INVALID: "correct the field at this place; docs/results.md explains every field",
} as const;

/** `code` is stable, `place` is the file and the field, `remedy` says what to do. */
export class ResultsError extends errorClass(resultsErrors) {}
