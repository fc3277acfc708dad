import type { PodEvent, SenderEvent, RequestRecord, RunRecording } from "../src/index.ts";

type EventOf<E, T> = Extract<E, { type: T }>;
/** A pod event without its pod and time. */
export type PodFact = PodEvent extends infer E ? (E extends PodEvent ? Omit<E, "at" | "pod"> : never) : never;

let ids = 0;

/** A quick request of `node-1` to web-1, well answered unless told otherwise. */
export function request(at: number, rest: Partial<RequestRecord> = {}): RequestRecord {
  return {
    id: ids++,
    intended: at,
    sent: at,
    finished: at + 2,
    mode: "new",
    kind: "quick",
    sender: "node-1",
    pod: "web-1",
    podKnownBy: "choice",
    reused: false,
    connected: at,
    outcome: "ok",
    received: 200,
    ...rest,
  };
}

/** A request whose connection was refused: it was never written. */
export function refused(at: number, rest: Partial<RequestRecord> = {}): RequestRecord {
  const {
    sent: _,
    connected: __,
    ...record
  } = request(at, {
    finished: at + 1,
    outcome: "refused",
    error: "ECONNREFUSED",
    received: 0,
    ...rest,
  });
  return record;
}

export function reset(at: number, rest: Partial<RequestRecord> = {}): RequestRecord {
  return request(at, { outcome: "reset-before-response", error: "ECONNRESET", received: 0, ...rest });
}

export function podEvents(pod: string, facts: readonly (readonly [at: number, fact: PodFact])[]): PodEvent[] {
  return facts.map(([at, fact]) => ({ at, pod, ...fact }));
}

export type Moments = Partial<
  Record<
    | "created"
    | "opened"
    | "ready"
    | "deleted"
    | "signalled"
    | "closing"
    | "closed"
    | "killed"
    | "exited"
    | "gone",
    number
  >
>;

/** The life of a pod of one container; moments that are left out did not happen. */
export function podLife(
  pod: string,
  moments: Moments,
  exit: Partial<EventOf<PodEvent, "exited">> = {},
): PodEvent[] {
  const facts: Record<keyof Moments, PodFact> = {
    created: { type: "created" },
    opened: { type: "listener-opened", port: 8080 },
    ready: { type: "ready" },
    deleted: { type: "deleted", grace: 30_000, why: "rollout" },
    signalled: { type: "signalled", container: "app", signal: "SIGTERM" },
    closing: { type: "phase", phase: "closing", reason: "quiet" },
    closed: { type: "listener-closed", port: 8080 },
    killed: { type: "killed", container: "app" },
    exited: { type: "exited", container: "app", code: 0, ...exit },
    gone: { type: "gone" },
  };
  return podEvents(
    pod,
    (Object.entries(moments) as [keyof Moments, number][]).map(([name, at]) => [at, facts[name]]),
  );
}

/** Pod web-1 of an ordinary termination: deleted at 10 s, its listener closed at once, ended two seconds later. */
export const ordinary: Moments = {
  created: 0,
  opened: 500,
  ready: 1_000,
  deleted: 10_000,
  signalled: 10_010,
  closed: 10_020,
  exited: 12_000,
  gone: 12_500,
};

export function senderEvents(
  sender: string,
  choices: Record<string, readonly [added: number, left?: number]>,
): SenderEvent[] {
  return Object.entries(choices).flatMap(([pod, [added, left]]): SenderEvent[] => [
    { at: added, sender, type: "added", pod },
    ...(left === undefined ? [] : [{ at: left, sender, type: "converged" as const, pod }]),
  ]);
}

export function recording(parts: Partial<RunRecording> = {}): RunRecording {
  const records = parts.records ?? [];
  return {
    remedy: "nothing",
    records,
    podEvents: podLife("web-1", ordinary),
    senderEvents: senderEvents("node-1", { "web-1": [1_050, 13_000] }),
    countedFrom: 2_000,
    scheduled: records.length,
    ended: 20_000,
    ...parts,
  };
}

/** Well answered requests to a pod, one each 100 ms. */
export function traffic(from: number, to: number, rest: Partial<RequestRecord> = {}): RequestRecord[] {
  return Array.from({ length: Math.floor((to - from) / 100) }, (_, i) => request(from + i * 100, rest));
}
