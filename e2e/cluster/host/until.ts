import { setTimeout as sleep } from "node:timers/promises";
import { ClusterError } from "../errors.ts";

export interface UntilOptions {
  /** What is waited for, in the words of the error message. */
  readonly what: string;
  readonly timeoutMs?: number;
  readonly everyMs?: number;
  readonly signal?: AbortSignal;
  /** Where to look when it does not happen. */
  readonly logs?: string;
}

/** Asks until the answer is neither undefined nor false; an error thrown by the question counts as "not yet". */
export async function until<T>(
  question: () => Promise<T | undefined | false>,
  options: UntilOptions,
): Promise<T> {
  const { what, timeoutMs = 60_000, everyMs = 100 } = options;
  const deadline = performance.now() + timeoutMs;
  let lastWords = "";
  for (;;) {
    options.signal?.throwIfAborted();
    try {
      const answer = await question();
      if (answer !== undefined && answer !== false) return answer;
      lastWords = "";
    } catch (error) {
      // A component that has ended will not come: that error is final.
      if (error instanceof ClusterError && error.code === "LAMEDUCK_CLUSTER_COMPONENT_ENDED") throw error;
      lastWords = `; last answer: ${error instanceof Error ? error.message : String(error)}`;
    }
    if (performance.now() > deadline)
      throw new ClusterError(
        "LAMEDUCK_CLUSTER_TIMEOUT",
        what,
        `not within ${timeoutMs / 1000} s${lastWords}${options.logs === undefined ? "" : `; logs in ${options.logs}`}`,
      );
    await sleep(everyMs, undefined, options.signal === undefined ? {} : { signal: options.signal });
  }
}
