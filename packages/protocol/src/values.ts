import { OperatorError } from "./errors.ts";

/** Whether a value of a stranger is an object with keys. */
export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whole, and not negative. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** The `version` of a message, as people are told of it. */
export function shownVersion(version: unknown): string {
  return typeof version === "number" ? String(version) : "unknown";
}

/** The error of a side that speaks another major version than this one. */
export function otherVersion(place: string, version: string): OperatorError {
  const problem = `it speaks version ${version} of the protocol, and this process version 1`;
  return new OperatorError("LAMEDUCK_OPERATOR_OTHER_VERSION", place, problem);
}
