import { BadLine, quoted } from "./errors.ts";

/** A request as a load tool reports it, before it is a record. Times are milliseconds since 1970, fractions included. */
export interface ReportedRequest {
  /** When the tool began it; equal to `finished` where the tool does not report a duration. */
  readonly begun: number;
  readonly finished: number;
  /** When it was written to the socket, if the tool reports it. */
  readonly sent?: number | undefined;
  readonly url?: string | undefined;
  /** 0 or absent where no answer came. */
  readonly status?: number | undefined;
  /** The tool's own words for what went wrong. */
  readonly error?: string | undefined;
  /** The answer had begun when it failed. */
  readonly answerBegun?: boolean | undefined;
  /** The tool's script expects this status. */
  readonly meant?: boolean | undefined;
  /** Whether the connection had carried a request before; absent where the tool does not report it. */
  readonly reused?: boolean | undefined;
  readonly received?: number | undefined;
  /** Named by the app's header, or by the person's own tag. */
  readonly pod?: string | undefined;
  /** What a proxy says it chose: a name or an address with port. */
  readonly upstream?: string | undefined;
  /** Address the connection led to. */
  readonly address?: string | undefined;
  /** The tool never sent it, although its schedule asked for it. */
  readonly dropped?: boolean | undefined;
}

/** Reads one format line by line. */
export interface Parser {
  /** A line without its end. @throws {BadLine} */
  line(text: string, number: number): void;
  /** Nothing follows: gives out what was still being put together. */
  end(): void;
}

export interface ParserContext {
  readonly emit: (request: ReportedRequest) => void;
  /** Times that are known only to that many milliseconds. */
  readonly coarse: (milliseconds: number) => void;
}

/** The values of a line. What is not as the form says is an error that names the line; nothing is guessed. */

export type JsonObject = Readonly<Record<string, unknown>>;

/** One object per line. @throws {BadLine} */
export function readObject(text: string, line: number): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new BadLine(line, "is not JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new BadLine(line, "is not a JSON object");
  return value as JsonObject;
}

export function asObject(value: unknown): JsonObject {
  return typeof value === "object" && value !== null ? (value as JsonObject) : {};
}

/** A text or a number, as text; "" for everything else. */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : typeof value === "number" ? String(value) : "";
}

/** @throws {BadLine} where it is no finite number of at least zero. */
export function asCount(value: unknown, name: string, line: number): number {
  if (typeof value === "number" && Number.isFinite(value) && value >= 0) return value;
  throw new BadLine(line, `${name} is not a number of at least 0`);
}

const timestamp = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,12}))?(Z|[+-]\d{2}:\d{2})$/;

/** RFC 3339, as k6 and vegeta write it. @returns milliseconds since 1970, with the fraction that the text has. @throws {BadLine} */
export function asTime(value: unknown, line: number): number {
  const text = asText(value);
  const [, seconds = "", fraction = "0", offset = ""] = timestamp.exec(text) ?? [];
  const at = Date.parse(seconds + offset) + Number(`0.${fraction}`) * 1_000;
  if (Number.isFinite(at)) return at;
  throw new BadLine(line, `${quoted(text)} is not a time with its zone`, "LAMEDUCK_REQUESTS_BAD_TIME");
}
