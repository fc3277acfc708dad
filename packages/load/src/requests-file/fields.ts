/** The values of a line. What is not as the form says is an error that names the line; nothing is guessed. */
import { BadLine, quoted } from "./errors.ts";

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
