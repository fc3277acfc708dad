import { setTimeout as delay } from "node:timers/promises";
import { KubernetesError } from "../errors.ts";

/** Tries again while the API server cannot be reached, until the signal: one that restarts in the middle of a rollout comes back. */
export async function persist<T>(signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await attempt();
    } catch (error) {
      const unreachable = error instanceof KubernetesError && error.code === "LAMEDUCK_API_UNREACHABLE";
      if (!unreachable || signal.aborted) throw error;
      await delay(500, undefined, { signal });
    }
}
