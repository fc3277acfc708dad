import { OperatorError, type Basis, usedOf } from "@lameduck/protocol";
import type { ConsumerFacts } from "@lameduck/senders";

/** A sender to pods whose state can be read. */
export interface Consumer {
  readonly kind: string;
  readonly basis: Basis;
  /** Least milliseconds between two polls; default 250. */
  readonly every?: number;
  /** Between two reports while it has not let go; default 1,000. */
  readonly heartbeatMs?: number;
  /** A poll may wait for its turn, which costs nobody anything: no pause follows from how long it took. */
  readonly pacesItself?: boolean;
  /** A poll costs processor time here, and asks nobody who could be busy. */
  readonly runsPrograms?: boolean;
  /**
   * Returns those of the addresses that the consumer may still send new connections to.
   * @throws where that is not known. No answer, or one that cannot be read, never means "unused".
   */
  stillUsed(addresses: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>>;
  /** Waits until the answer of a `stillUsed` that began at `since` may be out of date. It ends at once where nobody tells, and with the signal. */
  changed?(since: number, signal: AbortSignal): Promise<void>;
  /** Why it keeps addresses that it could have let go of, for people: printable ASCII, and no names in it, since any pod is told. */
  reason?(): string | undefined;
  /** Nobody waits any more. */
  rest?(): void;
}

/** What `--consumer KIND=WHERE` makes. */
export interface ConsumerKind {
  readonly facts: { readonly name: string; readonly consumer: ConsumerFacts };
  /** @param where the text after "=", empty without it. @returns undefined where it is not valid. */
  make(where: string): Consumer | undefined;
}

/** A proxy whose own state says what it sends to. @param every as of a consumer. */
export function stateConsumer(
  { name }: { readonly name: string },
  usedNow: (signal: AbortSignal, addresses: readonly string[]) => Promise<ReadonlySet<string>>,
  every?: number,
): Consumer {
  return {
    kind: name,
    basis: "state",
    ...(every === undefined ? {} : { every }),
    stillUsed: async (addresses, signal) => usedOf(addresses, await usedNow(signal, addresses)),
  };
}

/** Characters of a problem, which may quote an answer. */
const longestProblem = 500;

/** The error of a consumer that cannot be read. Nothing is reported as applied then. */
export function unreadable(place: string, problem: string, options?: ErrorOptions): OperatorError {
  return new OperatorError(
    "LAMEDUCK_OPERATOR_UNREADABLE_CONSUMER",
    place,
    problem.slice(0, longestProblem),
    options,
  );
}

/**
 * Imports a package that only some users install. Its name is not a literal in the import, so that it is not bundled.
 * @throws {OperatorError}
 */
export async function optionalPackage<T>(name: string): Promise<T> {
  try {
    const { default: whole, ...named } = (await import(name)) as { readonly default?: T };
    // Of CommonJS, and of what the image has bundled from it, all is there.
    return whole ?? (named as T);
  } catch (error) {
    throw unreadable(name, "the package is not installed beside the operator", { cause: error });
  }
}
