import type { Outcome, RequestRecord } from "@lameduck/accounting";
import type { Logged } from "./access-log.ts";

/** An answer that was cut, or whose client had left before it, has a flag. */
const podAnswered = ({ flags, details }: Logged): boolean => flags === "-" && details === "via_upstream";
const unanswered: ReadonlySet<Outcome> = new Set(["reset-before-response", "truncated", "timeout"]);

/** A request is new where Envoy opened a connection to the pod for it, whatever its client did. */
export function retold(
  record: RequestRecord,
  logged: Logged | undefined,
  podAt: (address: string) => string | undefined,
): RequestRecord {
  // Where a pod fails, Envoy answers with 503. What it resets before it has chosen a pod, it resets by itself.
  if (logged?.address === undefined)
    return record.outcome === "reset-before-response" ? { ...record, endedBySender: true } : record;
  const { reused, flags, details, address } = logged;
  const all = { ...record, mode: reused ? "pooled" : "new", reused } as const;
  if (record.outcome === "ok") return all;
  const pod = podAt(address);
  return {
    ...all,
    error: `${record.error ?? record.status ?? ""} ${flags} ${details}`.trim(),
    ...(podAnswered(logged) && unanswered.has(record.outcome) ? { endedBySender: true } : {}),
    ...(pod === undefined ? {} : { pod, podKnownBy: "proxy" }),
  };
}
