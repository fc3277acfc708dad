import type { NameOf, PolicyKind } from "@lameduck/options";

/** The numbers of the table of options that count under a policy. */
type NumbersOf<Kind extends PolicyKind> = Readonly<Record<NameOf<Kind>, number>>;

/** What must be true before a terminating pod may stop serving. Times are milliseconds. */
export type Policy = Fixed | UntilDeadline | Quiet | Adaptive | Acknowledged;

/** Stop after a delay, whatever the traffic does. */
export interface Fixed extends NumbersOf<"fixed"> {
  readonly kind: "fixed";
}

/** Serve until the grace period is nearly over. */
interface UntilDeadline {
  readonly kind: "until-deadline";
}

/** Stop once nothing has arrived for `window` and nothing is in flight. */
interface Quiet extends NumbersOf<"quiet"> {
  readonly kind: "quiet";
}

/** Stop once the requests that stopping now is expected to lose within one `convergence` are fewer than `lossBudget`. */
export interface Adaptive extends NumbersOf<"adaptive"> {
  readonly kind: "adaptive";
  /** What earlier terminations have taught about the environment: weights of the hypotheses in belief/hypotheses.ts. */
  readonly prior?: readonly number[];
}

/** Stop once the cluster says that all consumers have let go; where it cannot say so, as `adaptive`. */
interface Acknowledged extends Omit<Adaptive, "kind"> {
  readonly kind: "acknowledged";
}
