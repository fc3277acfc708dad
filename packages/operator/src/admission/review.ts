import { printable } from "@lameduck/drain/common";
import type { PatchOperation } from "../inject/injection.ts";

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
  readonly whole?: Readonly<Record<string, unknown>>;
}

/** What we say of it. */
export interface Verdict {
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

export interface Review {
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

/** @returns why it cannot be read, in place of a review. */
export function readReview(text: string): Review | { readonly problem: string; readonly uid: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: "the body is no JSON", uid: "" };
  }
  const { apiVersion, kind, request } = recordOf(value);
  const { uid, operation, namespace, object, oldObject, kind: requested } = recordOf(request);
  if (typeof uid !== "string" || uid === "" || uid.length > 256)
    return { problem: "there is no request.uid", uid: "" };
  const version = versions.find((one) => one === apiVersion);
  if (kind !== "AdmissionReview" || version === undefined)
    return { problem: `only ${versions.join(" and ")} are known`, uid };
  const { group, kind: name } = recordOf(requested);
  const request_ = {
    uid,
    group: textOf(group),
    kind: textOf(name),
    operation: textOf(operation),
    namespace: textOf(namespace),
    object,
    oldObject,
    whole: recordOf(request),
  };
  return { apiVersion: version, request: request_ };
}

/** The whole answer, whatever was asked. */
export function answerOf(uid: string, verdict: Verdict, apiVersion: string = versions[0]): string {
  const { allowed, message, retryAfter, patch = [], warnings = [], audit = {} } = verdict;
  const annotations = Object.entries(audit).map(
    ([key, value]) => [key, printable(value).slice(0, longestAudit)] as const,
  );
  return JSON.stringify({
    apiVersion,
    kind: "AdmissionReview",
    response: {
      uid,
      allowed,
      ...(message === undefined ? {} : { status: { ...statusOf(retryAfter), message: printable(message) } }),
      ...(patch.length === 0
        ? {}
        : { patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(patch)).toString("base64") }),
      ...(warnings.length === 0 ? {} : { warnings: warnings.slice(0, mostWarnings).map(shortened) }),
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
export function admittedAll(problem: string): Verdict {
  return { allowed: true, warnings: [`lameduck: admitted as it is: ${problem}`] };
}

function shortened(text: string): string {
  const shown = printable(text);
  return shown.length <= longestWarning ? shown : `${shown.slice(0, longestWarning - 1)}…`;
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
