import type { RequestRecord } from "@lameduck/accounting";
import type { ProxySpec } from "@lameduck/load";

type ProxyKind = ProxySpec["kind"];

/** What a proxy's own log says of a request that went wrong. */
export interface ProxyOutcome {
  readonly id: number;
  readonly pod?: string;
  readonly retries?: number;
  readonly error?: string;
}

/**
 * Whether it was the proxy that failed its caller: a pod's failure it would have answered with a 5xx. Only HAProxy passes the pod's reset
 * on to a caller's reused connection by closing that without an answer, so that the caller tries again, and keeps it out of its log
 * (seen with 2.6; its configuration has no say in it): the pod is known by the time only.
 */
function chargedToProxy(record: RequestRecord, kind: ProxyKind): boolean {
  if (record.outcome === "reset-before-response") return kind !== "haproxy" || !record.reused;
  return record.outcome === "refused" || record.outcome === "unreachable";
}

/** What the client saw, completed by what the proxy knows. The client's own fields are never replaced. */
export function amend(
  record: RequestRecord,
  outcome: ProxyOutcome | undefined,
  kind: ProxyKind,
): RequestRecord {
  return {
    ...record,
    ...(chargedToProxy(record, kind) ? { endedBySender: true } : {}),
    ...(record.pod === undefined && outcome?.pod !== undefined
      ? { pod: outcome.pod, podKnownBy: "proxy" as const }
      : {}),
    ...(record.retries === undefined && outcome?.retries !== undefined ? { retries: outcome.retries } : {}),
    ...(record.error === undefined && outcome?.error !== undefined ? { error: outcome.error } : {}),
  };
}
