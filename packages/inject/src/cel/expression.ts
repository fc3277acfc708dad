/** Texts and numbers of ours as CEL writes them. What comes from a pod is never made part of an expression. */
export function literal(
  value: string | number | boolean | readonly string[] | Readonly<Record<string, string>>,
): string {
  if (typeof value === "object") {
    const parts = Array.isArray(value)
      ? (value as readonly string[]).map((one) => literal(one))
      : Object.entries(value as Record<string, string>).map(
          ([key, one]) => `${literal(key)}: ${literal(one)}`,
        );
    return Array.isArray(value) ? `[${parts.join(", ")}]` : `{${parts.join(", ")}}`;
  }
  // CEL reads the escapes of JSON.
  return JSON.stringify(value);
}

/** Any value as CEL; what differs in type from its neighbours is `dyn`, as lists and maps hold one type. */
export function constant(value: unknown): string {
  if (Array.isArray(value)) return `dyn([${value.map((one) => constant(one)).join(", ")}])`;
  if (typeof value === "object" && value !== null)
    return `dyn({${Object.entries(value)
      .map(([key, one]) => `${literal(key)}: ${constant(one)}`)
      .join(", ")}})`;
  return `dyn(${JSON.stringify(value)})`;
}

/** The greater, or the lesser, of two numbers: CEL has a function for neither. */
export function greater(a: string, b: string): string {
  return `(${a} > ${b} ? ${a} : ${b})`;
}

export function lesser(a: string, b: string): string {
  return `(${a} < ${b} ? ${a} : ${b})`;
}

/** The last part of a path. */
export function lastPart(text: string): string {
  return `${text}.substring(${text}.lastIndexOf('/') + 1)`;
}
