import { OperatorError } from "../../errors.ts";

/** How a report knows: from rules or the proxy's own state (proof), from counted syncs (evidence), or because a time has passed. */
export type Basis = "rules" | "state" | "syncs" | "time";

/** Whoever sends to pods, as far as it lets itself be asked. */
export interface Consumer {
  readonly kind: string;
  readonly basis: Basis;
  /** Milliseconds between two looks, at least; 250 unless given. */
  readonly every?: number;
  /**
   * Of these addresses, those that new connections may still be sent to.
   * @throws where it cannot know: silence, and what cannot be understood, is never taken for "unused".
   */
  stillUsed(addresses: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>>;
  /** Those of which it is certain that they are, told quickly: where `stillUsed` takes long. */
  surelyUsed?(addresses: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>>;
}

/** A consumer that cannot be asked, or whose answer cannot be understood: nothing is reported as applied. */
export function unreadable(place: string, problem: string, options?: ErrorOptions): OperatorError {
  return new OperatorError("LAMEDUCK_OPERATOR_UNREADABLE_CONSUMER", place, problem, options);
}

/**
 * A package that is installed only by those who need it. Its name is no literal where it is imported, so that it is not bundled.
 * @throws {OperatorError}
 */
export async function optionalPackage<T>(name: string): Promise<T> {
  try {
    return (await import(name)) as T;
  } catch (error) {
    throw unreadable(name, "the package is not installed beside the operator", { cause: error });
  }
}
