import { LameduckError } from "./errors.ts";

/** The options within an option. @throws {LameduckError} where it is no object, or has others than the known ones. */
export function nestedOptions<T extends object>(value: T, name: string, known: readonly (keyof T)[]): T {
  if (typeof value !== "object" || value === null)
    throw new LameduckError(
      "LAMEDUCK_BAD_OPTION",
      name,
      `${JSON.stringify(value)} is not an object with ${known.join(", ")}`,
    );
  const stranger = Object.keys(value).find((key) => !known.includes(key as keyof T));
  if (stranger === undefined) return value;
  throw new LameduckError(
    "LAMEDUCK_BAD_OPTION",
    `${name}.${stranger}`,
    `no such option; known are ${known.join(", ")}`,
  );
}

/** @throws {LameduckError} */
export function pathList(value: unknown = [], name: string): ReadonlySet<string> {
  if (Array.isArray(value) && value.every((path) => typeof path === "string" && path.startsWith("/")))
    return new Set(value as string[]);
  throw new LameduckError("LAMEDUCK_BAD_OPTION", name, 'a path begins with "/"');
}
