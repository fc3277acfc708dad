/**
 * Why the hold ended. `floor`: the policy was content before the shortest hold was over. `idle`: nothing has ever arrived. `acknowledged`: all consumers have
 * let go, which under `adaptive` is the reason where the evidence alone would have gone on.
 */
export type StopReason = "delay" | "floor" | "quiet" | "idle" | "acknowledged" | "cap" | "forced";

/** What a hold that goes on is waiting for. */
export type Wait =
  | "termination"
  | "floor"
  | "delay"
  | "deadline"
  | "silence"
  | "requests"
  | "in-flight"
  | "acknowledgements"
  | "processor"
  | "gap";

export type Decision =
  | { readonly stop: true; readonly reason: StopReason }
  | {
      readonly stop: false;
      /** Ask again then, unless an observation that ends a wait (in-flight, released, force) comes first. */
      readonly until: number;
      readonly waitingFor: Wait;
    };

/** Numbers behind a decision, for logs and reports. */
export interface Explanation {
  /** Requests expected to arrive within one `convergence` after a stop now. Only the adaptive policy weighs them. */
  readonly expectedLoss: number;
  readonly inFlight: number;
  readonly senders: number;
  /** New connections since the hold began. */
  readonly connections: number;
  /** Requests on older connections since the hold began. */
  readonly requests: number;
  /** Time of the last arrival of either kind, if any. */
  readonly lastArrival: number | undefined;
  /** All conditions of the stop that are not met, first the one that the hold waits for; none before the termination. */
  readonly unmet: readonly Wait[];
}
