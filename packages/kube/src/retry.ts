import { setTimeout as delay } from "node:timers/promises";
import { ApiFailure } from "./answer.ts";
import { KubernetesError } from "./errors.ts";

/**
 * How long an API server that starts may refuse what it allows: 500 and 503, 401 until it has its keys, 403 until it has read its roles (seen
 * for half a second after a restart). Milliseconds.
 */
export const startupRefusals = 15_000;

/** Whether to try again. `refused`: for how long the API server has answered with refusals, milliseconds. */
type Retryable = (error: KubernetesError, refused: number) => boolean;

export function hasStatus(error: unknown, ...statuses: readonly number[]): error is ApiFailure {
  return error instanceof ApiFailure && statuses.includes(error.status);
}

/** What was asked for; undefined where the API server answers with one of these. */
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

/** The API server cannot be reached, is overloaded or fails; a refusal of what was asked is not among these. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ApiFailure) return error.status === 429 || error.status >= 500;
  return error instanceof KubernetesError && error.code === "LAMEDUCK_API_UNREACHABLE";
}

/** For what was allowed before: a restarting server rejects valid requests, for `startupRefusals` at most. */
export const transientOrStarting: Retryable = (error, refused) =>
  error instanceof ApiFailure
    ? (isTransient(error) || hasStatus(error, 401, 403)) && refused < startupRefusals
    : isTransient(error);

interface RetryOptions {
  readonly signal?: AbortSignal | undefined;
  /** No attempt begins later, milliseconds. Without it the signal alone ends it. */
  readonly timeout?: number;
  readonly retryable?: Retryable;
  /** Between attempts, milliseconds. */
  readonly pause?: number;
}

/** Tries again while the error is retryable. @throws the error of the last attempt. */
export async function retry<T>(attempt: () => Promise<T>, options: RetryOptions = {}): Promise<T> {
  const { signal, timeout = Infinity, retryable = transientOrStarting, pause = 500 } = options;
  const begun = Date.now();
  let refusedFrom: number | undefined;
  for (;;)
    try {
      return await attempt();
    } catch (error) {
      if (signal?.aborted || !(error instanceof KubernetesError)) throw error;
      // Refusals before and after a time without any answer are those of two servers, or of two starts.
      refusedFrom = error instanceof ApiFailure ? (refusedFrom ?? Date.now()) : undefined;
      const refused = refusedFrom === undefined ? 0 : Date.now() - refusedFrom;
      if (!retryable(error, refused) || Date.now() - begun > timeout) throw error;
      await delay(pause, undefined, { signal });
    }
}
