import { parseDuration, formatDuration, type Duration } from "./duration.ts";
import { shown } from "./common.ts";
import { DrainError } from "./errors.ts";
import { priorOf, type Learnt } from "./belief/learning.ts";
import { unknownName } from "./spelling.ts";
import { policyKinds, type Policy } from "./policy.ts";

/** Options of the user; every field has a default. Durations are "5s", "300ms" or milliseconds. */
export interface DrainOptions {
  /** Default "adaptive". */
  policy?: Policy["kind"];
  /** Shortest hold. Time spent in preStop hooks counts towards it. Default 1 s. */
  floor?: Duration;
  /** Longest hold. Default: grace - prestop - reserve. */
  cap?: Duration;
  /** terminationGracePeriodSeconds of the pod. Default 30 s, as in Kubernetes. */
  grace?: Duration;
  /** Part of the grace period that preStop hooks have used up before SIGTERM. Default 0. */
  prestop?: Duration;
  /** Time kept free before SIGKILL for closing. Default 5 s, or a third of what preStop hooks leave of the grace period if that is less. */
  reserve?: Duration;
  /** `fixed`: the delay. Required there. */
  delay?: Duration;
  /** `quiet`: how long nothing may arrive. Default 5 s. */
  window?: Duration;
  /** `adaptive`: requests that one termination may lose on average within one `convergence` after the stop. Default 0.001. */
  lossBudget?: number;
  /** `adaptive`: mean convergence time expected of a sender. Default 4 s. */
  convergence?: Duration;
  /** `adaptive`: what earlier terminations of the same workload have taught; see `learn`. Default: nothing. */
  learnt?: Learnt | null;
  /** How long connections that were open before the hold must have been silent. Default 1 s. */
  requestQuiet?: Duration;
  /** How long no new connection may come after the cluster has released the pod. Default 500 ms. */
  settle?: Duration;
  /** How many senders are told apart at most: where there are more, those that come often. Default 128. */
  maxSenders?: number;
}

/** Checked settings, all in milliseconds; `floor` and `cap` count from the beginning of the hold. */
export interface DrainConfig {
  readonly policy: Policy;
  readonly floor: number;
  readonly cap: number;
  /** Time between the deletion and the beginning of the hold. */
  readonly prestop: number;
  readonly requestQuiet: number;
  readonly settle: number;
  readonly maxSenders: number;
}

export const drainDefaults = {
  policy: "adaptive",
  floor: 1_000,
  grace: 30_000,
  prestop: 0,
  reserve: 5_000,
  window: 5_000,
  // 300 terminations without a loss need a budget near 2e-4 * (rate * convergence + 1); see docs/decision.md.
  lossBudget: 0.001,
  convergence: 4_000,
  requestQuiet: 1_000,
  settle: 500,
  maxSenders: 128,
} as const;

const optionNames: readonly string[] = [...Object.keys(drainDefaults), "cap", "delay", "learnt"];

/** Checks options and fills in defaults. @throws {DrainError} naming the option at fault. */
export function parseConfig(options: DrainOptions = {}): DrainConfig {
  for (const name of Object.keys(options))
    if (!optionNames.includes(name))
      throw new DrainError("LAMEDUCK_UNKNOWN_OPTION", name, unknownName("option", name, optionNames));
  const duration = (
    name: "floor" | "grace" | "prestop" | "window" | "convergence" | "requestQuiet" | "settle",
  ): number => parseDuration(options[name] === undefined ? drainDefaults[name] : options[name], name);

  const grace = duration("grace");
  const prestop = duration("prestop");
  const left = grace - prestop;
  const reserve =
    options.reserve === undefined
      ? Math.max(0, Math.min(drainDefaults.reserve, left / 3))
      : parseDuration(options.reserve, "reserve");
  const longest = left - reserve;
  if (longest <= 0)
    throw new DrainError(
      "LAMEDUCK_NO_TIME_TO_HOLD",
      reserve >= left && prestop < grace ? "reserve" : "grace",
      `${formatDuration(grace)} grace - ${formatDuration(prestop)} preStop - ${formatDuration(reserve)} reserve leaves ${formatDuration(longest)} to hold`,
    );
  const cap = options.cap === undefined ? longest : parseDuration(options.cap, "cap");
  if (cap > longest)
    throw new DrainError(
      "LAMEDUCK_CAP_ABOVE_GRACE",
      "cap",
      `${formatDuration(cap)} is more than ${formatDuration(grace)} grace - ${formatDuration(prestop)} preStop - ${formatDuration(reserve)} reserve = ${formatDuration(longest)}`,
    );
  if (cap <= 0) throw new DrainError("LAMEDUCK_NO_TIME_TO_HOLD", "cap", "is zero");
  // A default floor bends to a short grace period; one that was asked for does not.
  const floor = Math.max(0, duration("floor") - prestop);
  if (floor > cap && options.floor !== undefined)
    throw new DrainError(
      "LAMEDUCK_FLOOR_ABOVE_CAP",
      "floor",
      `${formatDuration(floor)} is above the cap of ${formatDuration(cap)}`,
    );
  return Object.freeze({
    policy: parsePolicy(options, duration),
    floor: Math.min(floor, cap),
    cap,
    prestop,
    requestQuiet: duration("requestQuiet"),
    settle: duration("settle"),
    maxSenders: wholeNumber(
      options.maxSenders === undefined ? drainDefaults.maxSenders : options.maxSenders,
      "maxSenders",
      1,
      mostSenders,
    ),
  });
}

/** An arrival is looked up among all of them. */
export const mostSenders = 4_096;

function parsePolicy(options: DrainOptions, duration: (name: "window" | "convergence") => number): Policy {
  const { policy: kind = drainDefaults.policy } = options;
  if (!policyKinds.includes(kind))
    throw new DrainError(
      "LAMEDUCK_UNKNOWN_POLICY",
      "policy",
      `${shown(kind)} is not one of ${policyKinds.join(", ")}`,
    );
  // Settings of other policies are checked as well: a mistake should not wait for the day on which the policy changes.
  const delay = options.delay === undefined ? undefined : parseDuration(options.delay, "delay");
  const window = duration("window");
  const convergence = duration("convergence");
  if (convergence === 0) throw new DrainError("LAMEDUCK_BAD_DURATION", "convergence", "must be above 0");
  const lossBudget = positive(options.lossBudget);
  switch (kind) {
    case "fixed":
      if (delay === undefined)
        throw new DrainError("LAMEDUCK_MISSING_OPTION", "delay", "the policy fixed needs a delay");
      return Object.freeze({ kind, delay });
    case "until-deadline":
      return Object.freeze({ kind });
    case "quiet":
      return Object.freeze({ kind, window });
    case "adaptive":
    case "acknowledged":
      return Object.freeze({ kind, lossBudget, convergence, ...learntIn(options) });
  }
}

function learntIn({ learnt }: DrainOptions): { readonly prior?: readonly number[] } {
  return (learnt ?? undefined) === undefined ? {} : { prior: Object.freeze(priorOf(learnt)) };
}

function positive(value: number = drainDefaults.lossBudget): number {
  if (typeof value !== "number" || !Number.isFinite(value) || value <= 0)
    throw new DrainError("LAMEDUCK_BAD_NUMBER", "lossBudget", `${shown(value)} is not a number above 0`);
  return value;
}

function wholeNumber(value: number, option: string, least: number, most: number): number {
  if (!Number.isInteger(value) || value < least || value > most)
    throw new DrainError(
      "LAMEDUCK_BAD_NUMBER",
      option,
      `${shown(value)} is not a whole number from ${least} to ${most}`,
    );
  return value;
}

/** What is kept free of the reserve, milliseconds: a timer may be late, and the process must end before SIGKILL. */
export function unforeseen(reserve: number): number {
  return Math.min(500, reserve / 10);
}

/** Over how long the asking is spread unless said otherwise, milliseconds. */
export const defaultRamp = 1_000;

/**
 * When to begin to ask clients to leave, milliseconds after SIGTERM, where the asking is spread over `ramp`. It begins at the
 * floor: a client that leaves before its load balancer has converged only comes back. A hold must leave time to ask before it
 * ends, else pools would be cut with requests on their way.
 */
export function hintsFrom({ policy, floor, cap }: DrainConfig, ramp: number): number {
  const longest = policy.kind === "fixed" ? Math.min(cap, Math.max(floor, policy.delay)) : cap;
  return Math.min(floor, Math.max(longest / 2, longest - 2 * ramp));
}
