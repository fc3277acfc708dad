import type { IncomingMessage } from "node:http";
import { KubernetesError, ApiFailure } from "@lameduck/kube";

/** What the load in the cluster needs of the API: the client of `rollout` has it. */
export interface Kube {
  get<T>(path: string, signal?: AbortSignal): Promise<T>;
  post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T>;
  delete<T>(path: string, body?: unknown, signal?: AbortSignal): Promise<T>;
  patch<T>(path: string, body: unknown, type: "merge-patch"): Promise<T>;
  stream(path: string, signal: AbortSignal): Promise<IncomingMessage>;
}

export function hasStatus(error: unknown, status: number): boolean {
  return error instanceof ApiFailure && error.status === status;
}

/** The API server is away or overloaded; what it refuses it would refuse again. */
export function isPassing(error: unknown): boolean {
  if (error instanceof ApiFailure) return error.status === 429 || error.status >= 500;
  return error instanceof KubernetesError ? error.code === "LAMEDUCK_API_UNREACHABLE" : true;
}

/**
 * An API server that has just started forbids everything until it has read its roles and accounts (seen for half a second after a
 * restart): what was allowed before is asked again for that long, milliseconds.
 */
export const forgetfulness = 15_000;

export function isForbidden(error: unknown): boolean {
  return hasStatus(error, 401) || hasStatus(error, 403);
}

const between = 300;

/** Tries again while the API server is away. `allowed`: it was allowed before, so that a refusal may pass, too. */
export async function insist<T>(
  attempt: () => Promise<T>,
  { patience, allowed = false }: { readonly patience: number; readonly allowed?: boolean },
): Promise<T> {
  const begun = Date.now();
  for (;;)
    try {
      return await attempt();
    } catch (error) {
      const waited = Date.now() - begun;
      const passing = isPassing(error) || (allowed && isForbidden(error) && waited < forgetfulness);
      if (!passing || waited > patience) throw error;
      await new Promise((resolve) => {
        setTimeout(resolve, between);
      });
    }
}
