import { badOption } from "./cluster/index.ts";

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Runs a program to its end, whose number is the exit code. A mistake of its user is said without a stack trace, and ends with 2. */
export async function runMain(main: () => Promise<number | void>): Promise<void> {
  try {
    process.exitCode = (await main()) ?? process.exitCode;
  } catch (error) {
    const { code = "", remedy, message, stack } = error as Error & { code?: string; remedy?: string };
    const isParsing = code.startsWith("ERR_PARSE_ARGS");
    if (isParsing) say(`LAMEDUCK_CLUSTER_BAD_OPTION ${message}`);
    else if (remedy !== undefined) say(`${code} ${message}\n  ${remedy}`);
    else say(stack ?? message);
    process.exitCode = isParsing || /(?:BAD_OPTION|UNKNOWN_COMPONENT)$/.test(code) ? 2 : 3;
  }
}

/** The names of a list with commas. @throws {ClusterError} of one that is not known. */
export function listed<Name extends string>(option: string, text: string, known: readonly Name[]): Name[] {
  return text.split(",").map((name) => {
    const found = known.find((one) => one === name);
    if (found === undefined) throw badOption(option, `"${name}" is not one of ${known.join(", ")}`);
    return found;
  });
}

/** The same of things that have a name. */
export function named<T extends { readonly name: string }>(
  option: string,
  text: string,
  known: readonly T[],
): T[] {
  const names = listed(
    option,
    text,
    known.map(({ name }) => name),
  );
  return names.flatMap((name) => known.filter((one) => one.name === name));
}

/** @throws {ClusterError} of what is no number above 0. */
export function positive(option: string, text: string): number {
  const number = Number(text);
  if (!(number > 0 && number < Infinity)) throw badOption(option, `"${text}" is no number above 0`);
  return number;
}
