import {
  decisionNames,
  namesOf,
  numberNames,
  plainNames,
  policyKinds,
  rows,
  type DecisionDefaults,
  type NumberName,
  type PlainName,
  type PolicyKind,
} from "@lameduck/options";
import { priorOf } from "./belief/learning.ts";
import { shown } from "./common.ts";
import { parseDuration, formatDuration } from "./duration.ts";
import { DrainError } from "./errors.ts";
import type { DrainOptions } from "./options.ts";
import type { Policy } from "./policy.ts";
import { unknownName } from "./spelling.ts";

/** Checked settings, all in milliseconds; `floor` and `cap` count from the beginning of the hold. */
export interface DrainConfig extends Readonly<Record<PlainName, number>> {
  readonly policy: Policy;
  readonly floor: number;
  readonly cap: number;
  /** Time between the deletion and the beginning of the hold. */
  readonly prestop: number;
}

/** Durations are milliseconds. */
export const drainDefaults = Object.fromEntries(
  decisionNames.flatMap((name) => (rows[name].default === undefined ? [] : [[name, rows[name].default]])),
) as DecisionDefaults;

/** Checks options and fills in defaults. @throws {DrainError} naming the option at fault. */
export function parseConfig(options: DrainOptions = {}): DrainConfig {
  for (const name of Object.keys(options))
    if (!(decisionNames as string[]).includes(name))
      throw new DrainError("LAMEDUCK_UNKNOWN_OPTION", name, unknownName("option", name, decisionNames));
  const duration = (name: "floor" | "grace" | "prestop"): number =>
    parseDuration(options[name] === undefined ? drainDefaults[name] : options[name], name);

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
  const kind = kindOf(options);
  const numbers = parseNumbers(options, kind);
  return Object.freeze({
    policy: policyOf(kind, numbers, options),
    floor: Math.min(floor, cap),
    cap,
    prestop,
    ...pick(numbers, plainNames),
  });
}

function kindOf({ policy: kind = drainDefaults.policy }: DrainOptions): PolicyKind {
  if (policyKinds.includes(kind)) return kind;
  throw new DrainError(
    "LAMEDUCK_UNKNOWN_POLICY",
    "policy",
    `${shown(kind)} is not one of ${policyKinds.join(", ")}`,
  );
}

type Numbers = Readonly<Partial<Record<NumberName, number>>>;

/** Options of other policies are checked as well: a mistake should not wait for the day on which the policy changes. */
function parseNumbers(options: DrainOptions, kind: PolicyKind): Numbers {
  const numbers: Partial<Record<NumberName, number>> = {};
  for (const name of numberNames) {
    const value = options[name] === undefined ? rows[name].default : options[name];
    if (value !== undefined) numbers[name] = parseNumber(name, value);
    else if (rows[name].policies?.includes(kind))
      throw new DrainError("LAMEDUCK_MISSING_OPTION", name, `the policy ${kind} needs a ${name}`);
  }
  return numbers;
}

function parseNumber(name: NumberName, value: unknown): number {
  const { kind, aboveZero, least = 0, most = Infinity } = rows[name];
  if (kind === "duration") {
    const milliseconds = parseDuration(value, name);
    if (milliseconds > 0 || !aboveZero) return milliseconds;
    throw new DrainError("LAMEDUCK_BAD_DURATION", name, "must be above 0");
  }
  const isWhole = kind === "whole number";
  const isNumber = typeof value === "number" && Number.isFinite(value);
  if (isNumber && (isWhole ? Number.isInteger(value) && value >= least && value <= most : value > 0))
    return value;
  const wanted = isWhole ? `a whole number from ${least} to ${most}` : "a number above 0";
  throw new DrainError("LAMEDUCK_BAD_NUMBER", name, `${shown(value)} is not ${wanted}`);
}

function pick<Name extends NumberName>(numbers: Numbers, names: readonly Name[]): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, numbers[name]])) as Record<Name, number>;
}

function policyOf(kind: PolicyKind, numbers: Numbers, options: DrainOptions): Policy {
  const learnt = rows.learnt.policies?.includes(kind) ? learntIn(options) : {};
  const policy = { kind, ...pick(numbers, namesOf(kind)), ...learnt } as Policy;
  return Object.freeze(policy);
}

function learntIn({ learnt }: DrainOptions): { readonly prior?: readonly number[] } {
  return (learnt ?? undefined) === undefined ? {} : { prior: Object.freeze(priorOf(learnt)) };
}

/** The longest that a hold may take, milliseconds. A fixed delay waits for the floor, too. */
export function longestHold({ policy, floor, cap }: DrainConfig): number {
  return policy.kind === "fixed" ? Math.min(cap, Math.max(floor, policy.delay)) : cap;
}

/** What is kept free of the reserve, milliseconds: a timer may be late, and the process must end before SIGKILL. */
export function unforeseen(reserve: number): number {
  return Math.min(500, reserve / 10);
}

/**
 * When to begin to ask clients to leave, milliseconds after SIGTERM, where the asking is spread over `ramp`. It begins at the
 * floor: a client that leaves before its load balancer has converged only comes back. A hold must leave time to ask before it
 * ends, else pools would be cut with requests on their way.
 */
export function hintsFrom(config: DrainConfig, ramp: number): number {
  const longest = longestHold(config);
  return Math.min(config.floor, Math.max(longest / 2, longest - 2 * ramp));
}
