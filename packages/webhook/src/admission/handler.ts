import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { messageOf } from "@lameduck/drain/common";
import { operatorNames } from "@lameduck/protocol";
import { RequestBodies, largestBody, answerHealth, type Health } from "@lameduck/program";
import type { Outcome } from "../metrics.ts";
import {
  admittedUnchanged,
  answerOf,
  readReview,
  type AdmissionRequest,
  type Review,
  type AdmissionResponse,
} from "./review.ts";

export type ReviewHandler = (request: AdmissionRequest) => AdmissionResponse;
/** One that takes its time. `gone` aborts when the API server does not wait for the answer any more. */
export type AsyncReviewHandler = (request: AdmissionRequest, gone: AbortSignal) => Promise<AdmissionResponse>;

export interface HandlerOptions extends Health {
  readonly mutate: ReviewHandler;
  readonly validate: ReviewHandler;
  /** Deletions and evictions, where they are held, from a caller whose path is right; of others they are let through. */
  readonly hold?:
    | { readonly reviewDeletion: AsyncReviewHandler; readonly isTrustedPath: (path: string) => boolean }
    | undefined;
  readonly onReview?: (path: string, outcome: Outcome, seconds: number) => void;
  /** A body was given up, since too much was being sent at a time. */
  readonly onDrop?: () => void;
  /** A handler threw: that is our mistake. */
  readonly onFault?: (error: unknown, request: AdmissionRequest) => void;
}

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly outcome: Outcome;
}

/** Answers the API server. Every answer is a whole AdmissionReview that admits, unless a handler says otherwise. */
export function admissionHandler(options: HandlerOptions): RequestListener {
  const { paths } = operatorNames;
  const handlers = new Map<string, ReviewHandler>([
    [paths.mutate, options.mutate],
    [paths.validate, options.validate],
  ]);
  const bodies = new RequestBodies(options.onDrop);
  return (request, response) => {
    // The API server adds ?timeout=2s.
    const [path = ""] = (request.url ?? "").split("?", 1);
    const handler = handlers.get(path);
    if (handler) void answerRequest(path, handler, request, response, bodies, options);
    // What follows is a secret, and no name of a metric.
    else if (path === paths.hold || path.startsWith(`${paths.hold}/`))
      void answerRequest(paths.hold, heldDeletionHandler(options, path), request, response, bodies, options);
    else answerHealth(path, request, response, options);
  };
}

function heldDeletionHandler({ hold }: HandlerOptions, path: string): ReviewHandler | AsyncReviewHandler {
  return hold?.isTrustedPath(path) ? hold.reviewDeletion : () => ({ allowed: true });
}

async function answerRequest(
  path: string,
  handler: ReviewHandler | AsyncReviewHandler,
  request: IncomingMessage,
  response: ServerResponse,
  bodies: RequestBodies,
  options: HandlerOptions,
): Promise<void> {
  const refused = methodProblem(request);
  const text = refused ? undefined : await bodies.read(request, largestBody);
  const began = performance.now();
  const answer =
    refused ??
    (text === undefined
      ? unreadable(413, "the body is too large, or broke off")
      : await answerReviewAsync(handler, text, closedSignal(response), options));
  // What was not read stands in the connection.
  if (text === undefined) response.setHeader("connection", "close");
  options.onReview?.(path, answer.outcome, (performance.now() - began) / 1_000);
  response.writeHead(answer.status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(answer.body),
    ...(answer.status === 405 ? { allow: "POST" } : {}),
  });
  response.end(answer.body);
}

function methodProblem({ method, headers }: IncomingMessage): Answer | undefined {
  if (method !== "POST") return unreadable(405, "only POST is answered");
  const [type = ""] = (headers["content-type"] ?? "").split(";", 1);
  return type.trim().toLowerCase() === "application/json"
    ? undefined
    : unreadable(415, "the content type must be application/json");
}

function closedSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  return gone.signal;
}

/** What is answered to a body, whatever it is. */
export function answerReview(
  text: string,
  handler: ReviewHandler,
  { onFault }: Pick<HandlerOptions, "onFault"> = {},
): Answer {
  const review = readReview(text);
  if ("problem" in review) return unreadable(200, review.problem, review.uid);
  try {
    return answerFor(review, handler(review.request));
  } catch (error) {
    return answerForFault(review, error, onFault);
  }
}

/** The same, of a handler that may take its time. */
async function answerReviewAsync(
  handler: ReviewHandler | AsyncReviewHandler,
  text: string,
  gone: AbortSignal,
  { onFault }: Pick<HandlerOptions, "onFault">,
): Promise<Answer> {
  const review = readReview(text);
  if ("problem" in review) return unreadable(200, review.problem, review.uid);
  try {
    const response = handler(review.request, gone);
    return answerFor(review, response instanceof Promise ? await response : response);
  } catch (error) {
    return answerForFault(review, error, onFault);
  }
}

function answerFor({ request, apiVersion }: Review, response: AdmissionResponse): Answer {
  return { status: 200, body: answerOf(request.uid, response, apiVersion), outcome: outcomeOf(response) };
}

function answerForFault(
  { request, apiVersion }: Review,
  error: unknown,
  onFault: HandlerOptions["onFault"],
): Answer {
  onFault?.(error, request);
  const response = admittedUnchanged(`something is wrong inside: ${messageOf(error)}`);
  return { status: 200, body: answerOf(request.uid, response, apiVersion), outcome: "fault" };
}

function unreadable(status: number, problem: string, uid = ""): Answer {
  return { status, body: answerOf(uid, admittedUnchanged(problem)), outcome: "unreadable" };
}

function outcomeOf({ allowed, patch, retryAfter }: AdmissionResponse): Outcome {
  if (!allowed) return retryAfter === undefined ? "rejected" : "delayed";
  if (patch === undefined) return "allowed";
  return patch.length > 0 ? "injected" : "left-alone";
}
