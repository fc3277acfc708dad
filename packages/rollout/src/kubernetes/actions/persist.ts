import { setTimeout as delay } from "node:timers/promises";
import { ApiFailure } from "../client/client.ts";
import { KubernetesError } from "../errors.ts";

/** An API server that starts answers 500 and 503, and forbids everything until it knows its roles. */
const recovery = 15_000;
const between = 500;

/**
 * Tries again while the API server cannot be reached, until the signal, and for a while what it refuses although it was allowed before: one that
 * restarts in the middle of a rollout comes back.
 */
export async function persist<T>(signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
  let refusedFrom: number | undefined;
  for (;;)
    try {
      return await attempt();
    } catch (error) {
      if (signal.aborted || !(error instanceof KubernetesError)) throw error;
      if (error instanceof ApiFailure) {
        refusedFrom ??= Date.now();
        const passing = error.status >= 500 || error.status === 403;
        if (!passing || Date.now() - refusedFrom > recovery) throw error;
      } else if (error.code !== "LAMEDUCK_API_UNREACHABLE") throw error;
      await delay(between, undefined, { signal });
    }
}
