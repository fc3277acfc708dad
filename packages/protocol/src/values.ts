/** Whole, and not negative. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** The `version` of a message, as people are told of it. */
export function shownVersion(version: unknown): string {
  return typeof version === "number" ? String(version) : "unknown";
}
