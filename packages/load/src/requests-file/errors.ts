import { errorClass } from "@lameduck/drain/common";

/** Every way a file of another tool's requests can be unfit for the account. The same codes stand in docs/reference/errors.md. */
export const requestsErrors = {
  LAMEDUCK_REQUESTS_UNREADABLE:
    "name a file that exists and may be read; not a pipe, which would block the tool that writes it",
  LAMEDUCK_REQUESTS_UNKNOWN_FORMAT:
    "give the output of `k6 run --out json=FILE` or of `vegeta encode`, or the JSON lines of docs/tools/rollout.md",
  LAMEDUCK_REQUESTS_BAD_LINE:
    "correct or remove the line; a line that is cut off at the end of the file does not matter",
  LAMEDUCK_REQUESTS_BAD_TIME:
    "write times as 2026-01-31T12:00:00.123Z, or with an offset such as +02:00 at the end",
  LAMEDUCK_REQUESTS_EMPTY: "check that the load ran and that the file is the whole output",
  LAMEDUCK_REQUESTS_OTHER_TIME:
    "give the file of the load that ran during the rollout; if it is the right one, check clocks and time zones",
  LAMEDUCK_REQUESTS_TOO_MANY: "split the file, or record a shorter time around the rollout",
} as const;

type RequestsErrorCode = keyof typeof requestsErrors;

/** `code` is stable, `place` is the file and the line, `remedy` says what to do. */
export class RequestsError extends errorClass(requestsErrors) {}

/** What is wrong with a line. The caller adds the name of the file. */
export class BadLine extends Error {
  readonly code: RequestsErrorCode;
  readonly line: number;

  constructor(line: number, problem: string, code: RequestsErrorCode = "LAMEDUCK_REQUESTS_BAD_LINE") {
    super(problem);
    this.line = line;
    this.code = code;
  }
}

/** Text from a file, short enough for a sentence. */
export function quoted(text: string): string {
  const printable = text.replaceAll(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, "?");
  return `"${printable.length > 60 ? `${printable.slice(0, 57)}...` : printable}"`;
}
