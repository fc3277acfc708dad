import { messageOf, printable } from "@lameduck/drain/common";
import { type PatchOperation, cut, mapIn } from "@lameduck/inject";
import type { Outcome } from "../metrics.ts";

/** What the API server asks about. Objects are as strangers wrote them. */
export interface AdmissionRequest {
  readonly uid: string;
  readonly group: string;
  readonly kind: string;
  readonly operation: string;
  readonly namespace: string;
  readonly object: unknown;
  readonly oldObject: unknown;
  /** The rest of what it says; only held deletions ask for it. */
  readonly raw?: Readonly<Record<string, unknown>>;
}

/** What we say of it. */
export interface AdmissionResponse {
  readonly allowed: boolean;
  /** Why it is not, for the person who sent it. */
  readonly message?: string;
  /** Not now: seconds after which it is worth asking again. The API server answers 429, as a PodDisruptionBudget does. */
  readonly retryAfter?: number;
  readonly patch?: readonly PatchOperation[];
  readonly warnings?: readonly string[];
  /** For the audit log of the API server. */
  readonly audit?: Readonly<Record<string, string>>;
}

/** @param gone aborts when the API server does not wait for the answer any more. */
export type ReviewHandler = (
  request: AdmissionRequest,
  gone: AbortSignal,
) => AdmissionResponse | Promise<AdmissionResponse>;

/** For the API server. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly outcome: Outcome;
}

interface Review {
  /** The version in which the answer is to be given. */
  readonly apiVersion: string;
  readonly request: AdmissionRequest;
}

/** Both have the same fields. Of any other nothing is known. */
const versions = ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"] as const;

/** kubectl shows so much of one; the API server drops what has more than 4,096 characters together. */
const longestWarning = 256;
const mostWarnings = 10;
const longestAudit = 2_000;
const longestMessage = 4_000;
/**
 * A Deployment of 100 containers has some 2,000. 8 MiB of empty objects take JSON.parse 400 ms and 200 MB, ten times what other text takes, and the
 * container has 256 MB. ../../test/admission-hostile.test.ts shows the attack.
 */
const mostBrackets = 200_000;
/** What Kubernetes calls things is never longer. */
const longestName = 253;

/**
 * The answer to a body, whatever that is: a whole AdmissionReview, which admits unless the handler says otherwise.
 * @param onFault a handler threw: that is our mistake.
 */
export async function answerReview(
  text: string,
  handler: ReviewHandler,
  gone: AbortSignal,
  onFault?: (error: unknown, request: AdmissionRequest) => void,
): Promise<Answer> {
  const review = readReview(text);
  if ("problem" in review) return unreadable(200, review.problem, review.uid);
  const { request, apiVersion } = review;
  try {
    const response = await handler(request, gone);
    return { status: 200, body: answerOf(request.uid, response, apiVersion), outcome: outcomeOf(response) };
  } catch (error) {
    onFault?.(error, request);
    const response = admittedUnchanged(`something is wrong inside: ${messageOf(error)}`);
    return { status: 200, body: answerOf(request.uid, response, apiVersion), outcome: "fault" };
  }
}

/** The answer to what is no review. */
export function unreadable(status: number, problem: string, uid = ""): Answer {
  return { status, body: answerOf(uid, admittedUnchanged(problem)), outcome: "unreadable" };
}

/** @returns why it cannot be read, in place of a review. */
function readReview(text: string): Review | { readonly problem: string; readonly uid: string } {
  if (hasMoreBrackets(mostBrackets, text))
    return { problem: `the body has more than ${mostBrackets} lists and objects`, uid: "" };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: "the body is no JSON", uid: "" };
  }
  const { apiVersion, kind, request } = mapIn(value);
  const { uid, operation, namespace, object, oldObject, kind: requested } = mapIn(request);
  if (typeof uid !== "string" || uid === "" || uid.length > 256)
    return { problem: "there is no request.uid", uid: "" };
  const version = versions.find((one) => one === apiVersion);
  if (kind !== "AdmissionReview" || version === undefined)
    return { problem: `only ${versions.join(" and ")} are known`, uid };
  const { group, kind: name } = mapIn(requested);
  const request_: AdmissionRequest = {
    uid,
    group: textOf(group),
    kind: textOf(name),
    operation: textOf(operation),
    namespace: textOf(namespace),
    object,
    oldObject,
    raw: mapIn(request),
  };
  return { apiVersion: version, request: request_ };
}

/** Texts may hold brackets, too: then it is too many a little earlier. */
function hasMoreBrackets(most: number, text: string): boolean {
  if (text.length <= most) return false;
  let opened = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x5b || code === 0x7b) opened++;
  }
  return opened > most;
}

/** The whole answer, whatever was asked. */
function answerOf(uid: string, verdict: AdmissionResponse, apiVersion: string = versions[0]): string {
  const { allowed, message, retryAfter, patch = [], warnings = [], audit = {} } = verdict;
  const annotations = Object.entries(audit).map(
    ([key, value]) => [key, printableWithin(value, longestAudit)] as const,
  );
  return JSON.stringify({
    apiVersion,
    kind: "AdmissionReview",
    response: {
      uid,
      allowed,
      ...(message === undefined
        ? {}
        : { status: { ...statusOf(retryAfter), message: printableWithin(message, longestMessage) } }),
      ...(patch.length === 0
        ? {}
        : { patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(patch)).toString("base64") }),
      ...(warnings.length === 0
        ? {}
        : { warnings: warnings.slice(0, mostWarnings).map((one) => printableWithin(one, longestWarning)) }),
      ...(annotations.length === 0 ? {} : { auditAnnotations: Object.fromEntries(annotations) }),
    },
  });
}

function statusOf(retryAfter: number | undefined): object {
  return retryAfter === undefined
    ? { code: 422, reason: "Invalid" }
    : { code: 429, reason: "TooManyRequests", details: { retryAfterSeconds: retryAfter } };
}

/** Whatever goes wrong with us, the cluster goes on. */
function admittedUnchanged(problem: string): AdmissionResponse {
  return { allowed: true, warnings: [`lameduck: admitted as it is: ${problem}`] };
}

function outcomeOf({ allowed, patch, retryAfter }: AdmissionResponse): Outcome {
  if (!allowed) return retryAfter === undefined ? "rejected" : "delayed";
  if (patch === undefined) return "allowed";
  return patch.length > 0 ? "injected" : "left-alone";
}

/** What is made printable becomes longer: it is cut before, since it may have megabytes, and after. */
function printableWithin(text: string, longest: number): string {
  return cut(printable(cut(text, longest)), longest);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value.slice(0, longestName) : "";
}
