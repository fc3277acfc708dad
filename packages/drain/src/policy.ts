/** What must be true before a terminating pod may stop serving. Times are milliseconds. */
export type Policy = Fixed | UntilDeadline | Quiet | Adaptive | Acknowledged;

/** Stop after a delay, whatever the traffic does. */
export interface Fixed {
  readonly kind: "fixed";
  readonly delay: number;
}

/** Serve until the grace period is nearly over. */
export interface UntilDeadline {
  readonly kind: "until-deadline";
}

/** Stop once nothing has arrived for `window` and nothing is in flight. */
export interface Quiet {
  readonly kind: "quiet";
  readonly window: number;
}

/** Stop once the requests that stopping now is expected to lose within one `convergence` are fewer than `lossBudget`. */
export interface Adaptive {
  readonly kind: "adaptive";
  /** Requests that one termination may lose on average within one `convergence` after the stop. */
  readonly lossBudget: number;
  /** Mean time a sender takes to learn of the deletion: the prior that evidence corrects. */
  readonly convergence: number;
  /** What earlier terminations have taught about the environment: weights of the hypotheses in belief/hypotheses.ts. */
  readonly prior?: readonly number[];
}

/** Stop once the cluster says that all consumers have let go; where it cannot say so, as `adaptive`. */
export interface Acknowledged extends Omit<Adaptive, "kind"> {
  readonly kind: "acknowledged";
}

export const policyKinds = ["fixed", "until-deadline", "quiet", "adaptive", "acknowledged"] as const;
