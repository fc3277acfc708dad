import type { RequestsErrorCode } from "./errors.ts";

/** What is wrong with a line; whoever knows the file adds its name. */
export class BadLine extends Error {
  readonly code: RequestsErrorCode;
  readonly line: number;

  constructor(line: number, problem: string, code: RequestsErrorCode = "LAMEDUCK_REQUESTS_BAD_LINE") {
    super(problem);
    this.line = line;
    this.code = code;
  }
}

/** A stranger's text, short enough for a sentence. */
export function quoted(text: string): string {
  const printable = text.replaceAll(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, "?");
  return `"${printable.length > 60 ? `${printable.slice(0, 57)}...` : printable}"`;
}
