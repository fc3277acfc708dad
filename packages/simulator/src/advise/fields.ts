/** The value at a path in data of unknown shape. */
export function field(value: unknown, ...path: readonly string[]): unknown {
  let at: unknown = value;
  for (const key of path)
    at = typeof at === "object" && at !== null ? (at as Record<string, unknown>)[key] : undefined;
  return at;
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function positive(value: unknown): number | undefined {
  return typeof value === "number" && value > 0 ? value : undefined;
}
