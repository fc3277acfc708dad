/**
 * What can be seen of the traffic, each with its time in milliseconds on one clock of the caller's choice.
 * Probes (kubelet, load-balancer health checks, scrapes) are never arrivals: leave them out.
 */
export type Observation =
  | Watching
  | Termination
  | Arrival
  | Asked
  | InFlight
  | Pool
  | Busy
  | Released
  | Unreleased
  | Force;

/** Arrivals are complete from here on. Without this observation they are complete from the first one on. */
export interface Watching {
  readonly type: "watching";
  readonly at: number;
}

/** The hold begins (SIGTERM). */
export interface Termination {
  readonly type: "termination";
  readonly at: number;
}

/**
 * A new connection says that the sender still chooses this pod; a request on a connection that was open before says only that
 * the connection lives. They are two clocks, never one.
 */
export interface Arrival {
  readonly type: "arrival";
  readonly at: number;
  readonly sender: string;
  readonly kind: "connection" | "request";
  /** Of a request: its connection has been asked to close before. */
  readonly asked?: boolean;
  /** Of a connection: it came between `at - earlier` and `at`. Only a connection that cannot have come before a release overrules it. */
  readonly earlier?: number;
  /** A request on a connection that was open before, reported as a connection of a sender that opens few. It does not overrule a release. */
  readonly old?: boolean;
}

/**
 * A connection of this sender is asked to close (`Connection: close`, GOAWAY). The requests that it has made since the hold began will be missing
 * from now on, and that silence proves nothing.
 */
export interface Asked {
  readonly type: "asked";
  readonly at: number;
  readonly sender: string;
  /** The number of requests that the connection has made since the hold began. */
  readonly requests: number;
}

/** Requests begun (+n) or finished (-n). */
export interface InFlight {
  readonly type: "in-flight";
  readonly at: number;
  readonly change: number;
}

/**
 * The latest request or answer on old connections whose clients will go on sending: they come from pools, and nobody can ask their owners to close them. They
 * prolong a hold by no more than the wait for a gap between two of them.
 */
export interface Pool {
  readonly type: "pool";
  readonly at: number;
}

/**
 * Programs of this machine wait for a processor. New pods that start cause that. A server closes its connections slowly meanwhile. This prolongs a hold by
 * ten seconds at most, and only while pools are in use.
 */
export interface Busy {
  readonly type: "busy";
  readonly at: number;
}

/** The cluster says that every consumer of the endpoint no longer chooses this pod, since `at`. */
export interface Released {
  readonly type: "released";
  readonly at: number;
  /** How many consumers have let go, of how many, for people: "5/5". */
  readonly consumers?: string;
  /** The consumer that let go last, for people. */
  readonly last?: string;
}

/** There is no release yet, or no longer. */
export interface Unreleased {
  readonly type: "unreleased";
  readonly at: number;
  /** The cluster will not release the pod: it is silent, or does not know all consumers. `acknowledged` decides as `adaptive` does meanwhile. */
  readonly local?: boolean;
  /** Senders of which nobody reports are assumed to choose the pod for so many milliseconds from `at` on. */
  readonly assumed?: number;
}

/** Somebody wants the hold to end now. */
export interface Force {
  readonly type: "force";
  readonly at: number;
}
