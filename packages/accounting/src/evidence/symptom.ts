import type { RequestRecord } from "../model/request.ts";

/** What failed on the way to the pod, by the record alone. A proxy's 502 is translated if the proxy said why. */
export type Symptom =
  /** The generator's own failure. */
  | "not-sent"
  | "refused"
  /** No connection. */
  | "unreachable"
  /** The connection ended before the first byte. */
  | "reset"
  | "truncated"
  /** The request was sent and not answered in time. */
  | "timeout"
  /** A 502, 503 or 504, and nothing that says why. */
  | "unavailable"
  | "wrong-answer";

/** Failures of the machine the load comes from, whatever the outcome says: they say nothing about a pod. */
const ownErrors: ReadonlySet<string> = new Set([
  "EADDRNOTAVAIL",
  "EADDRINUSE",
  "EMFILE",
  "ENFILE",
  "ENOBUFS",
  "ENOMEM",
]);

const resets = new Set(["ECONNRESET", "EPIPE", "ECONNABORTED", "UND_ERR_SOCKET"]);
const unreachables = new Set([
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EHOSTDOWN",
  "ETIMEDOUT",
  "UND_ERR_CONNECT_TIMEOUT",
]);

export function symptomOf(record: RequestRecord): Symptom | undefined {
  if (ownErrors.has(record.error ?? "")) return "not-sent";
  switch (record.outcome) {
    case "ok":
      return undefined;
    case "not-sent":
    case "refused":
    case "unreachable":
    case "truncated":
      return record.outcome;
    case "reset-before-response":
      return "reset";
    case "wrong-body":
    case "other-status":
      return "wrong-answer";
    case "timeout":
      // Without a connection there was nothing to wait for an answer on.
      return record.sent === undefined && record.connected === undefined ? "unreachable" : "timeout";
    case "bad-status":
      return statusSymptom(record);
  }
}

function statusSymptom({ status, error = "", reused }: RequestRecord): Symptom {
  if (error === "ECONNREFUSED") return "refused";
  if (resets.has(error) || error.startsWith("HPE_")) return "reset";
  if (unreachables.has(error)) return reused ? "timeout" : "unreachable";
  // gRPC's words for it: the server would not take the call, or gave it up.
  if (error === "UNAVAILABLE") return "unavailable";
  if (error === "CANCELLED") return "truncated";
  return status === 502 || status === 503 || status === 504 ? "unavailable" : "wrong-answer";
}
