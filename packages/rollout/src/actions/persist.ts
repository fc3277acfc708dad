import { setTimeout as delay } from "node:timers/promises";
import { ApiFailure, KubernetesError } from "@lameduck/kube";

/**
 * An API server that starts answers 500 and 503, knows nobody (401) until it has its keys, and forbids everything until it knows its roles; one
 * that has much to do answers 429. Milliseconds.
 */
const recovery = 15_000;
const between = 500;

/** Whether it is worth while to try again, after so many milliseconds of refusals. */
export type Passing = (error: KubernetesError, refused: number) => boolean;

export const mayPass: Passing = (error, refused) => {
  if (!(error instanceof ApiFailure)) return error.code === "LAMEDUCK_API_UNREACHABLE";
  const { status } = error;
  return (status >= 500 || [401, 403, 429].includes(status)) && refused < recovery;
};

/**
 * Tries again while the API server cannot be reached, until the signal, and for a while what it refuses although it was allowed before: one that
 * restarts in the middle of a rollout comes back.
 */
export async function persist<T>(
  signal: AbortSignal,
  attempt: () => Promise<T>,
  passing: Passing = mayPass,
): Promise<T> {
  let refusedFrom: number | undefined;
  for (;;)
    try {
      return await attempt();
    } catch (error) {
      if (signal.aborted || !(error instanceof KubernetesError)) throw error;
      if (error instanceof ApiFailure) refusedFrom ??= Date.now();
      if (!passing(error, Date.now() - (refusedFrom ?? Date.now()))) throw error;
      await delay(between, undefined, { signal });
    }
}
