import type { RequestRecord } from "../../model/request.ts";

/** What a proxy's own log says of a request that went wrong. */
export interface Fate {
  readonly id: number;
  readonly pod?: string;
  readonly retries?: number;
  readonly error?: string;
}

/** What the client saw, completed by what the proxy knows. What the client already knew stays. */
export function amend(record: RequestRecord, fate: Fate | undefined): RequestRecord {
  if (!fate) return record;
  return {
    ...record,
    ...(record.pod === undefined && fate.pod !== undefined
      ? { pod: fate.pod, podKnownBy: "proxy" as const }
      : {}),
    ...(record.retries === undefined && fate.retries !== undefined ? { retries: fate.retries } : {}),
    ...(record.error === undefined && fate.error !== undefined ? { error: fate.error } : {}),
  };
}
