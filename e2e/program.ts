import { constants } from "node:os";
import { badOption, Cluster, type ClusterOptions } from "./cluster/index.ts";

/** Tells people what goes on. */
export const say = (line: string): void => void process.stderr.write(`${line}\n`);

class Interrupted extends Error {
  readonly signal: "SIGINT" | "SIGTERM" | "SIGHUP";

  constructor(signal: Interrupted["signal"]) {
    super(`ended by ${signal}`);
    this.signal = signal;
  }
}

/** Aborts at the first signal, so that a program removes what it has started. The second signal of a kind ends it at once. */
export function interruption(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.once(signal, () => stop.abort(new Interrupted(signal)));
  return stop.signal;
}

/** Runs a program. The number that it returns is the exit code. A user's mistake prints no stack trace and exits with 2, any other error with 3. */
export async function runMain(main: () => Promise<number | void>): Promise<void> {
  try {
    process.exitCode = (await main()) ?? process.exitCode;
  } catch (error) {
    if (error instanceof Interrupted) {
      say(error.message);
      // Whatever was under way may still wait for a cluster that is gone.
      process.exit(128 + constants.signals[error.signal]);
    }
    const failure = error as Error & { code?: unknown; remedy?: string };
    const { remedy, message, stack } = failure;
    // The code of a failed child process is its exit code, a number.
    const code = String(failure.code);
    const isParsing = code.startsWith("ERR_PARSE_ARGS");
    if (isParsing) say(`LAMEDUCK_CLUSTER_BAD_OPTION ${message}`);
    else if (remedy !== undefined) say(`${code} ${message}\n  ${remedy}`);
    else say(stack ?? message);
    process.exitCode = isParsing || /(?:BAD_OPTION|UNKNOWN_COMPONENT)$/.test(code) ? 2 : 3;
  }
}

/** Uses the cluster of `npm run cluster:up` and leaves it there, or brings one up and takes it down again. */
export async function onCluster<T>(
  attach: boolean,
  options: ClusterOptions,
  use: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  if (attach) {
    const cluster = await Cluster.attach();
    return use(cluster).finally(() => cluster.api.close());
  }
  const signal = interruption();
  await using cluster = await Cluster.up({ ...options, signal });
  const interrupted = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => interrupted.reject(signal.reason as Error), { once: true });
  return await Promise.race([use(cluster), interrupted.promise]);
}

/** Splits a list at its commas. @throws {ClusterError} if a name is not known. */
export function listed<Name extends string>(option: string, text: string, known: readonly Name[]): Name[] {
  return text.split(",").map((name) => {
    const found = known.find((one) => one === name);
    if (found === undefined) throw badOption(option, `"${name}" is not one of ${known.join(", ")}`);
    return found;
  });
}

/** Finds the things that a list names. @throws {ClusterError} if a name is not known. */
export function named<T extends { readonly name: string }>(
  option: string,
  text: string,
  known: readonly T[],
): T[] {
  const names = known.map(({ name }) => name);
  return listed(option, text, names).flatMap((name) => known.filter((one) => one.name === name));
}

/** Reads a number. @throws {ClusterError} if it is not above 0. */
export function positive(option: string, text: string): number {
  const number = Number(text);
  if (!(number > 0 && number < Infinity)) throw badOption(option, `"${text}" is no number above 0`);
  return number;
}
