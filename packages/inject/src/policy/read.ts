import type { SettingField } from "./fields.ts";
import { unknownName } from "@lameduck/drain";
import { shown } from "@lameduck/drain/common";

/** Something that a DrainPolicy or an annotation says wrongly. */
export interface Problem {
  /** `spec.capSeconds`, or the annotation's key. */
  readonly field: string;
  readonly message: string;
  readonly remedy: string;
  /** A newer version of Lameduck may know what this one does not. */
  readonly mayBeNewer?: boolean;
}

/** In one line, for a person. */
export function formatProblem({ field, message, remedy }: Problem): string {
  return `${field}: ${message}: ${remedy}`;
}

/** A value, or why there is none. */
export type ReadSetting =
  | { readonly value: number | string | boolean }
  | { readonly message: string; readonly remedy: string };

/** What a DrainPolicy writes into a field. */
export function readValue(field: SettingField, value: unknown): ReadSetting {
  switch (field.kind) {
    case "switch":
      return typeof value === "boolean"
        ? { value }
        : {
            message: `must be true or false, not ${briefly(value)}`,
            remedy: "write true or false, without quotes",
          };
    case "seconds":
      return readSeconds(field, value);
    case "choice":
      return field.choices.includes(value as string)
        ? { value: value as string }
        : {
            message: `${briefly(value)} is none of ${field.choices.join(", ")}`,
            remedy: `choose one of ${field.choices.join(", ")}`,
          };
    case "text":
      return typeof value === "string" && value.length <= field.longest && field.pattern.test(value)
        ? { value }
        : {
            message: `${briefly(value)} is not of the form that is needed`,
            remedy: `write it like ${field.example}`,
          };
  }
}

function readSeconds(
  { least, most }: { readonly least: number; readonly most: number },
  value: unknown,
): ReadSetting {
  const remedy = `write a whole number of seconds from ${least} to ${most}`;
  if (typeof value !== "number" || !Number.isInteger(value))
    return { message: `must be a whole number of seconds, not ${briefly(value)}`, remedy };
  return value < least || value > most
    ? { message: `${value} is not within ${least} to ${most}`, remedy }
    : { value };
}

/** Whole seconds or minutes: as much as a policy in the API server can read, too. */
export const duration = /^(?:0|[1-9][0-9]{0,4})[sm]$/;

/** What an annotation says: all of them are texts, and times have a unit. */
export function readAnnotation(field: SettingField, text: unknown): ReadSetting {
  if (typeof text !== "string")
    return { message: `must be a text, not ${briefly(text)}`, remedy: "put it in quotes" };
  switch (field.kind) {
    case "switch":
      return text === "true" || text === "false"
        ? { value: text === "true" }
        : { message: `must be "true" or "false", not ${briefly(text)}`, remedy: 'write "true" or "false"' };
    case "seconds": {
      if (duration.test(text)) {
        const seconds = Number.parseInt(text, 10) * (text.endsWith("m") ? 60 : 1);
        return readSeconds(field, seconds);
      }
      return {
        message: `${briefly(text)} is no duration in whole seconds or minutes`,
        remedy: /^\d+$/.test(text) ? `add the unit: ${text}s` : "write it like 20s or 2m",
      };
    }
    case "choice":
    case "text":
      return readValue(field, text);
  }
}

/** Characters of a stranger's text in a message. */
const longest = 100;

/** A value in a message, in one line, of a length that a message may have. */
export function briefly(value: unknown): string {
  return shown(typeof value === "string" ? cut(value) : value);
}

export function cut(text: string, most = longest): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** To find what a name was meant to be takes its time; a person writes no more wrong ones. */
const mostUnknown = 20;

/**
 * What is said of names that nobody knows: of the first ones, and that there are more. It asks for no more names than it needs.
 * @param place stands before each: "spec."
 */
export function unknownNames(
  kind: string,
  place: string,
  names: Iterable<string>,
  known: readonly string[],
): Problem[] {
  const problems: Problem[] = [];
  for (const name of names) {
    if (problems.length === mostUnknown) {
      // Without their number: whoever removes one of them has added none.
      problems.push({
        field: place.replace(/[./]$/, ""),
        message: `holds more than ${mostUnknown} unknown ${kind}s`,
        remedy: "remove them",
      });
      break;
    }
    problems.push({
      field: cut(place + name),
      message: unknownName(kind, cut(name), known),
      remedy: "remove it, or correct its spelling",
    });
  }
  return problems;
}
