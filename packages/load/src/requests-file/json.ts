import { BadLine } from "./errors.ts";
import type { Parser } from "./request.ts";

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

/** A format of one object per line. */
export function jsonLines(take: (object: JsonObject, line: number) => void): Parser {
  return {
    line: (text, line) => {
      if (text.trim() !== "") take(readObject(text, line), line);
    },
    end: () => undefined,
  };
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
