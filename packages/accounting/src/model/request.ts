/** What became of a request, as its client saw it. */
export const outcomes = [
  "ok",
  /** The connection was refused (RST in answer to SYN). */
  "refused",
  /** No connection within the time allowed, or no route to the host. */
  "unreachable",
  /** The connection ended before the first byte of the answer. */
  "reset-before-response",
  /** The connection ended in the middle of the answer. */
  "truncated",
  /** 502, 503 or 504, or any other 5xx the app did not mean. */
  "bad-status",
  "timeout",
  /** Complete, but not what the app answers. */
  "wrong-body",
  /** The generator could not send it: no local port, no file descriptor, or out of time. */
  "not-sent",
  /** Complete, below 500, and of another class than what was answered before the rollout: a 404 of a proxy without a backend, a redirect to a login. */
  "other-status",
] as const;

export type Outcome = (typeof outcomes)[number];

/** `new`: a connection of its own. `pooled`: a kept-alive connection of the sender's pool, where one is free. */
export const modes = ["new", "pooled"] as const;
export type ConnectionMode = (typeof modes)[number];

/**
 * `slow`: the app takes long to answer. `large`: the answer is streamed for long. `session`: not a request but the end of a WebSocket or
 * an event stream that its client did not end; `intended` is then that end, `sent` its beginning.
 */
export type RequestKind = ScheduledKind | "session";
export type ScheduledKind = "quick" | "slow" | "large";

/**
 * How the pod of a request is known. The surest comes first: the sender chose the pod, the sender was told the pod's address, a header of the app
 * names it, a header or log of the proxy names it, address and port match, only the time matches.
 */
export const podSources = ["choice", "address", "header", "proxy", "tuple", "time"] as const;

/** One request of the load. Times are milliseconds on the run's clock (see clock.ts); every scheduled request has a record. */
export interface RequestRecord {
  readonly id: number;
  /** When the schedule wanted it sent; latency counts from here. */
  readonly intended: number;
  /**
   * How much later than intended the load generator turned to it, milliseconds, where the generator's own stall made it late or had just
   * ended: what it knew of pods and connections then was old.
   */
  readonly late?: number;
  /** When it was written to the socket. */
  readonly sent?: number;
  /** When it was complete or had failed. */
  readonly finished?: number;
  readonly mode: ConnectionMode;
  readonly kind: RequestKind;
  /** Name of the sender that chose the pod, e.g. "node-1", "ingress-2". */
  readonly sender: string;
  /** The pod it went to, where known. */
  readonly pod?: string;
  readonly podKnownBy?: (typeof podSources)[number];
  /** The answer named a pod of another workload, so that the request was no load for the target. */
  readonly elsewhere?: true;
  /** Number of the client's connection, unique in the run. */
  readonly connection?: number;
  /** Whether that connection had carried a request before. */
  readonly reused: boolean;
  /** When that connection was established. */
  readonly connected?: number;
  readonly outcome: Outcome;
  readonly status?: number;
  /** errno or library code of a failure, e.g. "ECONNREFUSED". */
  readonly error?: string;
  /** Bytes of the answer received. */
  readonly received: number;
  /**
   * Times an intermediate proxy tried again, if it reports that; or times the client itself went elsewhere because the server had said in its
   * protocol that it would not answer (GOAWAY, REFUSED_STREAM, WebSocket close 1001, the end of an event stream).
   */
  readonly retries?: number;
  /** The sender lost the request, and no pod did: it cut the connection (a proxy's reload), or did not pass the pod's answer on. */
  readonly endedBySender?: boolean;
}
