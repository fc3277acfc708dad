import { InvalidArgumentError } from "commander";
import { badOption } from "./errors.ts";

/** RFC 1123. */
export function isNamespaceName(name: string): boolean {
  return /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(name);
}

/** @throws {CliError} */
export function mustBeNamespace(option: string, name: string): string {
  if (isNamespaceName(name)) return name;
  throw badOption(option, `"${name}" is no name of a namespace`);
}

/** "expectStatus" is --expect-status. */
export function flagOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** Parser of an option that may be repeated. */
export function collect(value: string, former: readonly string[] = []): string[] {
  return [...former, value];
}

type NumberParser = (text: string) => number;

export function whole(least: number, most: number): NumberParser {
  return bounded("a whole number", Number.isInteger, least, most);
}

export function number(least: number, most: number): NumberParser {
  return bounded("a number", Number.isFinite, least, most);
}

function bounded(what: string, is: (value: number) => boolean, least: number, most: number): NumberParser {
  return (text) => {
    const value = Number(text);
    if (!is(value) || text.trim() === "" || value < least || value > most)
      throw new InvalidArgumentError(`It must be ${what} from ${least} to ${most}.`);
    return value;
  };
}
