import type { IncomingMessage } from "node:http";
import { KubernetesError, type KubernetesErrorCode } from "./errors.ts";

const codes: Readonly<Record<number, KubernetesErrorCode>> = {
  401: "LAMEDUCK_CREDENTIALS_FAILED",
  403: "LAMEDUCK_API_FORBIDDEN",
};

/** An answer of the API server that is no success. */
export class ApiFailure extends KubernetesError {
  readonly status: number;
  /** The reason that Kubernetes names, such as "NotFound" or "TooManyRequests". */
  readonly reason: string;

  constructor(place: string, status: number, reason: string, message: string) {
    super(codes[status] ?? "LAMEDUCK_API_REFUSED", place, message);
    this.status = status;
    this.reason = reason;
  }
}

/** A page of 500 pods has some 10 MB. An answer without an end must not fill the memory. */
const longestAnswerLength = 200_000_000;

export function failureOf(place: string, status: number, text: string): ApiFailure {
  try {
    const { message, reason } = JSON.parse(text) as { message?: string; reason?: string };
    return new ApiFailure(place, status, reason ?? "", message ?? `status ${status}`);
  } catch {
    return new ApiFailure(place, status, "", `status ${status}: ${text.slice(0, 200)}`);
  }
}

export function parsed(text: string, place: string): Record<string, unknown> {
  try {
    const answer: unknown = JSON.parse(text);
    if (typeof answer === "object" && answer !== null) return answer as Record<string, unknown>;
  } catch {
    // Reported below.
  }
  throw new KubernetesError(
    "LAMEDUCK_API_REFUSED",
    place,
    "the answer is no JSON object: is this an API server?",
  );
}

export async function textOf(response: IncomingMessage, place: string): Promise<string> {
  let text = "";
  response.setEncoding("utf8");
  for await (const chunk of response as AsyncIterable<string>) {
    text += chunk;
    if (text.length > longestAnswerLength)
      throw new KubernetesError("LAMEDUCK_API_REFUSED", place, "the answer does not end");
  }
  return text;
}

/** The place from which a watch or a list should go on is forgotten by the API server. */
export function isExpired(error: unknown): boolean {
  return error instanceof ApiFailure && (error.status === 410 || error.reason === "Expired");
}
