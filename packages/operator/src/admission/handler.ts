import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { messageOf } from "@lameduck/drain/common";
import { operatorNames } from "../names.ts";
import { Bodies, largestBody } from "./body.ts";
import { health, type Health } from "./health.ts";
import type { Outcome } from "../process/metrics.ts";
import {
  admittedAll,
  answerOf,
  readReview,
  type AdmissionRequest,
  type Review,
  type Verdict,
} from "./review.ts";

export type Judge = (request: AdmissionRequest) => Verdict;
/** One that takes its time. `gone` aborts when the API server does not wait for the answer any more. */
export type AsyncJudge = (request: AdmissionRequest, gone: AbortSignal) => Promise<Verdict>;

export interface HandlerOptions extends Health {
  readonly mutate: Judge;
  readonly validate: Judge;
  /** Deletions and evictions, where they are held, from a caller whose path is right; of others they are let through. */
  readonly hold?: { readonly judge: AsyncJudge; readonly isFrom: (path: string) => boolean } | undefined;
  readonly onReview?: (path: string, outcome: Outcome, seconds: number) => void;
  /** A body was given up, since too much was being sent at a time. */
  readonly onDrop?: () => void;
  /** A judge threw: that is our mistake. */
  readonly onFault?: (error: unknown, request: AdmissionRequest) => void;
}

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly outcome: Outcome;
}

/** Answers the API server. Every answer is a whole AdmissionReview that admits, unless a judge says otherwise. */
export function admissionHandler(options: HandlerOptions): RequestListener {
  const { paths } = operatorNames;
  const judges = new Map<string, Judge>([
    [paths.mutate, options.mutate],
    [paths.validate, options.validate],
  ]);
  const bodies = new Bodies(options.onDrop);
  return (request, response) => {
    // The API server adds ?timeout=2s.
    const [path = ""] = (request.url ?? "").split("?", 1);
    const judge = judges.get(path);
    if (judge) void review(path, judge, request, response, bodies, options);
    // What follows is a secret, and no name of a metric.
    else if (path === paths.hold || path.startsWith(`${paths.hold}/`))
      void review(paths.hold, holdJudge(options, path), request, response, bodies, options);
    else health(path, request, response, options);
  };
}

function holdJudge({ hold }: HandlerOptions, path: string): Judge | AsyncJudge {
  return hold?.isFrom(path) ? hold.judge : () => ({ allowed: true });
}

async function review(
  path: string,
  judge: Judge | AsyncJudge,
  request: IncomingMessage,
  response: ServerResponse,
  bodies: Bodies,
  options: HandlerOptions,
): Promise<void> {
  const refused = misused(request);
  const text = refused ? undefined : await bodies.read(request, largestBody);
  const began = performance.now();
  const answer =
    refused ??
    (text === undefined
      ? unreadable(413, "the body is too large, or broke off")
      : await judgedBy(judge, text, goneOf(response), options));
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

function misused({ method, headers }: IncomingMessage): Answer | undefined {
  if (method !== "POST") return unreadable(405, "only POST is answered");
  const [type = ""] = (headers["content-type"] ?? "").split(";", 1);
  return type.trim().toLowerCase() === "application/json"
    ? undefined
    : unreadable(415, "the content type must be application/json");
}

function goneOf(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  return gone.signal;
}

/** What is answered to a body, whatever it is. */
export function judged(
  text: string,
  judge: Judge,
  { onFault }: Pick<HandlerOptions, "onFault"> = {},
): Answer {
  const review = readReview(text);
  if ("problem" in review) return unreadable(200, review.problem, review.uid);
  try {
    return verdictFor(review, judge(review.request));
  } catch (error) {
    return faultOf(review, error, onFault);
  }
}

/** The same, of a judge that may take its time. */
async function judgedBy(
  judge: Judge | AsyncJudge,
  text: string,
  gone: AbortSignal,
  { onFault }: Pick<HandlerOptions, "onFault">,
): Promise<Answer> {
  const review = readReview(text);
  if ("problem" in review) return unreadable(200, review.problem, review.uid);
  try {
    const verdict = judge(review.request, gone);
    return verdictFor(review, verdict instanceof Promise ? await verdict : verdict);
  } catch (error) {
    return faultOf(review, error, onFault);
  }
}

function verdictFor({ request, apiVersion }: Review, verdict: Verdict): Answer {
  return { status: 200, body: answerOf(request.uid, verdict, apiVersion), outcome: outcomeOf(verdict) };
}

function faultOf(
  { request, apiVersion }: Review,
  error: unknown,
  onFault: HandlerOptions["onFault"],
): Answer {
  onFault?.(error, request);
  const verdict = admittedAll(`something is wrong inside: ${messageOf(error)}`);
  return { status: 200, body: answerOf(request.uid, verdict, apiVersion), outcome: "fault" };
}

function unreadable(status: number, problem: string, uid = ""): Answer {
  return { status, body: answerOf(uid, admittedAll(problem)), outcome: "unreadable" };
}

function outcomeOf({ allowed, patch, retryAfter }: Verdict): Outcome {
  if (!allowed) return retryAfter === undefined ? "rejected" : "delayed";
  if (patch === undefined) return "allowed";
  return patch.length > 0 ? "injected" : "left-alone";
}
