import { setTimeout as delay } from "node:timers/promises";
import { ApiFailure } from "./answer.ts";
import { KubernetesError } from "./errors.ts";

/**
 * An API server that starts may refuse for this time what it allows: 500 and 503, 401 until it has its keys, 403 until it has read its
 * roles (seen for half a second after a restart).
 */
export const startupRefusalsMs = 15_000;

/** Whether to try again. `refusedMs`: for how long the API server has answered with refusals. */
type Retryable = (error: KubernetesError, refusedMs: number) => boolean;

export function hasStatus(error: unknown, ...statuses: readonly number[]): error is ApiFailure {
  return error instanceof ApiFailure && statuses.includes(error.status);
}

/** The answer; undefined where the API server answers with one of these statuses. */
export async function orUndefined<T>(
  answer: Promise<T>,
  ...statuses: readonly number[]
): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (hasStatus(error, ...statuses)) return undefined;
    throw error;
  }
}

/** The API server cannot be reached, is overloaded or fails. A refusal is not transient. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ApiFailure) return error.status === 429 || error.status >= 500;
  return error instanceof KubernetesError && error.code === "LAMEDUCK_API_UNREACHABLE";
}

/** For requests that were allowed before: a restarting server rejects them, for `startupRefusalsMs` at most. */
export const transientOrStarting: Retryable = (error, refusedMs) =>
  error instanceof ApiFailure
    ? (isTransient(error) || hasStatus(error, 401, 403)) && refusedMs < startupRefusalsMs
    : isTransient(error);

interface RetryOptions {
  readonly signal?: AbortSignal | undefined;
  /** No attempt begins later. Without it the signal alone ends the attempts. */
  readonly timeoutMs?: number;
  readonly retryable?: Retryable;
  /** Between two attempts. */
  readonly pauseMs?: number;
}

/** Tries again while the error is retryable. @throws the error of the last attempt. */
export async function retry<T>(attempt: () => Promise<T>, options: RetryOptions = {}): Promise<T> {
  const { signal, timeoutMs = Infinity, retryable = transientOrStarting, pauseMs = 500 } = options;
  const begun = Date.now();
  let refusedFrom: number | undefined;
  for (;;)
    try {
      return await attempt();
    } catch (error) {
      if (signal?.aborted || !(error instanceof KubernetesError)) throw error;
      // Refusals before and after a time without any answer are those of two servers, or of two starts.
      refusedFrom = error instanceof ApiFailure ? (refusedFrom ?? Date.now()) : undefined;
      const refusedMs = refusedFrom === undefined ? 0 : Date.now() - refusedFrom;
      if (!retryable(error, refusedMs) || Date.now() - begun > timeoutMs) throw error;
      await delay(pauseMs, undefined, { signal });
    }
}
