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

/** [HOST[:PORT]/]PATH[:TAG][@DIGEST], as container runtimes read it; a host in capitals is what `check` prints in place of one. */
const imageReference =
  /^(?:(?:[a-z0-9.-]+|\[[0-9a-f:]+\])(?::\d+)?\/)?[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*(?::\w[\w.-]{0,127})?(?:@[a-z][a-z0-9+._-]*:[0-9a-f]{32,})?$/;

/** @throws {CliError} */
export function mustBeImage(option: string, reference: string): string {
  if (imageReference.test(reference)) return reference;
  const [placeholder] = /^[A-Z]+(?=\/)/.exec(reference) ?? [];
  throw badOption(
    option,
    placeholder === undefined
      ? `"${reference}" is no reference of an image, such as registry.example/lameduck:1`
      : `${placeholder} in "${reference}" stands for a registry: put in the address of yours, in lower case`,
  );
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
