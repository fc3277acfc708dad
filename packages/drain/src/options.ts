// Written by `node packages/options/generate/main.ts` from packages/options/src/table.ts.
import type { Learnt } from "./belief/learning.ts";
import type { Duration } from "./duration.ts";

/** Options of the user. Durations are "5s", "300ms" or milliseconds. */
export interface DrainOptions {
  /** Adaptive (default), quiet, fixed, until-deadline, acknowledged (needs `coordinator`). */
  policy?: "fixed" | "until-deadline" | "quiet" | "adaptive" | "acknowledged";
  /** terminationGracePeriodSeconds of the pod. Default: 30s. */
  grace?: Duration;
  /** Part of `grace` that preStop hooks use before the signal. Default: 0s. */
  prestop?: Duration;
  /**
   * Part of `grace` kept for the program's own shutdown. Default: 5s, or a third if that is less. The third is of
   * what preStop hooks leave.
   */
  reserve?: Duration;
  /** Shortest hold. Default: 1s. Time in preStop hooks counts towards it. */
  floor?: Duration;
  /** Longest hold. Default: grace - prestop - reserve. If a sleep has always been long enough, set it here. */
  cap?: Duration;
  /**
   * `adaptive`: requests that a termination may lose on average. Default: 0.001. They are counted within one
   * `convergence` after the stop.
   */
  lossBudget?: number;
  /** `adaptive`: mean time until a sender stops sending. Default: 4s. */
  convergence?: Duration;
  /** `adaptive`: what earlier terminations have taught, as `learn` gives it. */
  learnt?: Learnt | null;
  /** `quiet`: stop when nothing has arrived for this time. Default: 5s. */
  window?: Duration;
  /** `fixed`: length of the hold. */
  delay?: Duration;
  /** Old connections must have been silent for this time. Default: 1s. */
  requestQuiet?: Duration;
  /** Senders tracked one by one. Default: 128. Where there are more, those that come often. */
  maxSenders?: number;
  /** After the release no connection may arrive for this time. Default: 500ms. */
  settle?: Duration;
}
