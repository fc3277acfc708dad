import { unknownName } from "@lameduck/drain";
import { shown } from "@lameduck/drain/common";
import { badOption } from "../errors.ts";
import { valueOf, type Environment } from "./environment.ts";

/** The options within an option or argument. @throws {LameduckError} where it is no object, or has others than the known ones. */
export function nestedOptions<T extends object>(
  value: T,
  name: string,
  known: readonly (keyof T & string)[],
): T {
  if (!isRecord(value)) throw badOption(name, `${shown(value)} is not an object with ${known.join(", ")}`);
  const unknown = Object.keys(value).find((key) => !known.includes(key as keyof T & string));
  if (unknown !== undefined) throw badOption(`${name}.${unknown}`, unknownName("option", unknown, known));
  return value;
}

export function isRecord(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @throws {LameduckError} */
export function pathList(value: unknown = [], name: string): ReadonlySet<string> {
  if (Array.isArray(value) && value.every(isPath)) return new Set(value);
  throw badOption(name, pathsAre);
}

/** What a variable lists, with commas or spaces between. @throws {LameduckError} */
export function pathsFrom(environment: Environment, variable: string): readonly string[] {
  const text = valueOf(environment, variable);
  const paths = text?.split(/[\s,]+/).filter((each) => each !== "") ?? [];
  const wrong = paths.find((each) => !isPath(each));
  if (wrong !== undefined) throw badOption(variable, `${shown(text)}: ${pathsAre}`);
  return paths;
}

export const pathsAre = 'a path begins with "/" and has no query';

export function isPath(value: unknown): value is string {
  return typeof value === "string" && value.startsWith("/") && !value.includes("?");
}
