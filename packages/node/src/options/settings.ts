import { isAbsolute } from "node:path";
import {
  DrainError,
  drainDefaults,
  formatDuration,
  hintsFrom,
  parseConfig,
  parseDuration,
  unusable,
  type DrainConfig,
  type DrainOptions,
  type Duration,
} from "@lameduck/drain";
import { shown } from "@lameduck/drain/common";
import { decisionNames, options as table } from "@lameduck/options";
import { choiceOf, switchOf } from "./by-table.ts";
import {
  isInKubernetes,
  optionsFromEnvironment,
  valueOf,
  variableOf,
  type Environment,
} from "./environment.ts";
import type { LameduckOptions } from "./lameduck-options.ts";
import { badOption } from "../errors.ts";
import { parseHealth, type Health } from "./health.ts";
import { parseLog, type Logger } from "./logger.ts";
import { unknownOptionIn } from "./option-names.ts";
import { isRecord } from "./nested-options.ts";
import { warningsAbout } from "./warnings.ts";
import { misspeltVariables } from "./misspelt.ts";
import { parseProbes, parseStreams, type IsProbe, type IsStream } from "./requests.ts";
import { parseCoordinator, withoutCoordinator, type CoordinatorSettings } from "./coordinator.ts";
import { yieldToCode } from "./injected-times.ts";
import { parseSignals } from "./signals.ts";

export interface Settings {
  readonly isPod: boolean;
  /** Whether somebody may still send here for a while; elsewhere nobody expects the process to last after the signal. */
  readonly holds: boolean;
  /** Whether somebody kills the process at the deadline. */
  readonly isKilled: boolean;
  readonly drain: DrainConfig;
  /** Milliseconds from SIGTERM to SIGKILL. */
  readonly deadline: number;
  readonly ramp: number;
  /** Time after the hold that belongs to lasting connections, milliseconds. 0: they are ended within the reserve. */
  readonly spread: number;
  /** When answers begin to say close, counted from SIGTERM. */
  readonly hintAt: number;
  readonly isProbe: IsProbe;
  readonly isStream: IsStream;
  readonly health: Health | undefined;
  readonly log: Logger | false | undefined;
  readonly exit: boolean;
  /** Those that mean a termination; none where code tells when. */
  readonly signals: readonly NodeJS.Signals[];
  readonly otherHandlers: "hold" | "leave";
  readonly crashes: "leave" | "close";
  readonly trace: string | undefined;
  /** Undefined where nobody is to be asked. */
  readonly coordinator: CoordinatorSettings | undefined;
  /** The environment of a process in a pod; undefined elsewhere. */
  readonly pod: Environment | undefined;
  /** Possible mistakes. Each is reported once. */
  readonly warnings: readonly string[];
}

/** @throws {LameduckError} naming the option or variable at fault. */
export function parseSettings(options: LameduckOptions = {}): Settings {
  if (!isRecord(options)) throw badOption("options", `${shown(options)} is not an object`);
  const unknown = unknownOptionIn(options);
  if (unknown) throw new DrainError("LAMEDUCK_UNKNOWN_OPTION", unknown.name, unknown.problem);
  const { environment = process.env } = options;
  if (!isRecord(environment)) throw badOption("environment", `${shown(environment)} is not an object`);
  const inCode = drainOptionsOf(options);
  const coordinator = parseCoordinator(options.coordinator, options.mode, environment);
  const byVariables = optionsFromEnvironment(environment);
  const given: DrainOptions = { ...byVariables, ...inCode };
  const alone = withoutCoordinator(coordinator, given, inCode);
  const isPod = isInKubernetes(environment);
  const holds = isPod || isAskedFor(byVariables);
  const asked = isPod ? given : outsideKubernetes(given);
  const unusable = forgetUnusable(asked);
  const health = parseHealth(options.lbHealth);
  const { timeout } = options;
  // A developer's machine has no grace period that it would have to fit into.
  const spread = spreadOf(options.spread, environment, holds);
  const {
    parsed,
    options: merged,
    warnings: yielded,
  } = yieldToCode(asked, { ...options }, environment, (some) => {
    const whole = parseAt(some, inCode, environment, spread);
    if (timeout !== undefined) boundBy(timeout, some, whole.prestop);
    return waitingFor(health, timeout === undefined ? whole : parseAt(some, inCode, environment, spread));
  });
  // Options in code are checked alike everywhere, as the same code runs in a pod later.
  const drain = holds ? parsed : withoutHold(parsed);
  const trace = traceFrom(options.trace, environment);
  const warnings = [
    ...misspeltVariables(environment),
    ...(holds ? alone : []),
    ...ofLoweredCap(merged, parsed, spread),
    ...unusable,
    ...yielded,
    ...coordinator.warnings,
    ...trace.warnings,
  ];
  const ramp = parseDuration(options.ramp === undefined ? table.ramp.default : options.ramp, "ramp");
  return Object.freeze({
    isPod,
    holds,
    isKilled: isPod || given.grace !== undefined || timeout !== undefined,
    drain,
    deadline: parseDuration(merged.grace ?? drainDefaults.grace, "grace") - drain.prestop,
    ramp,
    spread: spread.time,
    hintAt: hintsFrom(drain, ramp),
    isProbe: parseProbes(options.probes, health?.path === undefined ? [] : [health.path], environment),
    isStream: parseStreams(options.streams, environment),
    health,
    log: parseLog(options.log),
    exit: switchOf("exit", options.exit),
    signals: parseSignals(options.signals, environment),
    otherHandlers: choiceOf("otherHandlers", options.otherHandlers, environment),
    crashes: choiceOf("crashes", options.crashes, environment),
    trace: trace.path,
    coordinator: coordinator.isMeant ? coordinator : undefined,
    pod: isPod ? environment : undefined,
    warnings: [...warnings, ...warningsAbout(merged, parsed, environment)],
  });
}

/** What was stored must not keep a pod from starting: another release may have written it. */
function forgetUnusable(options: DrainOptions): string[] {
  const problem = typeof options.learnt === "object" ? unusable(options.learnt) : undefined;
  if (problem === undefined) return [];
  delete options.learnt;
  return [`learnt: ${problem}; it is ignored`];
}

/** As if the grace period ended then. */
function boundBy(timeout: Duration, options: DrainOptions, prestop: number): void {
  const most = parseDuration(timeout, "timeout");
  const left = parseDuration(options.grace ?? drainDefaults.grace, "grace") - prestop;
  if (most <= 0 || most > left)
    throw badOption(
      "timeout",
      `${formatDuration(most)} is not above 0 and at most the ${formatDuration(left)} that the grace period leaves`,
    );
  options.grace = prestop + most;
}

/** A load balancer that relies on health checks gets its time. */
function waitingFor(health: Health | undefined, drain: DrainConfig): DrainConfig {
  if (!health) return drain;
  if (health.wait > drain.cap)
    throw badOption(
      "lbHealth.wait",
      `${formatDuration(health.wait)} is above the cap of ${formatDuration(drain.cap)}`,
    );
  return { ...drain, floor: Math.max(drain.floor, health.wait) };
}

/** Outside Kubernetes there is no floor, and no policy unless one is named. */
function outsideKubernetes(given: DrainOptions): DrainOptions {
  const isNamed = given.policy !== undefined || given.floor !== undefined;
  return { floor: 0, requestQuiet: 0, ...(!isNamed && { policy: "fixed", delay: 0 }), ...given };
}

/** By a variable: unlike code, it belongs to the place where the process runs. */
function isAskedFor({ policy, floor, delay }: DrainOptions): boolean {
  return policy !== undefined || floor !== undefined || delay !== undefined;
}

/** Outside Kubernetes no sender lags behind, and a developer's restart must not wait, whatever the code says for pods. */
function withoutHold(drain: DrainConfig): DrainConfig {
  return { ...drain, policy: { kind: "fixed", delay: 0 }, floor: 0, requestQuiet: 0 };
}

/** A time of its own in the grace period, and where it was said. */
interface Spread {
  readonly time: number;
  readonly place: string;
}

function spreadOf(inCode: Duration | undefined, environment: Environment, holds: boolean): Spread {
  const { variable } = table.spread;
  const isInCode = inCode !== undefined;
  const said = isInCode ? inCode : valueOf(environment, variable);
  const place = isInCode ? "spread" : variable;
  const time = said === undefined ? 0 : parseDuration(said, place);
  return { time: holds ? time : 0, place };
}

/** The hold gets what the spread leaves of the grace period. */
function besideSpread(merged: DrainOptions, inCode: DrainOptions, { time, place }: Spread): DrainConfig {
  if (time === 0) return parseConfig(merged);
  const { cap, ...others } = merged;
  const grace = parseDuration(merged.grace ?? drainDefaults.grace, "grace");
  const taken = `${formatDuration(time)} of the ${formatDuration(grace)} grace period`;
  const most = parseConfig({ ...others, floor: 0 }).cap;
  if (time >= most)
    throw new DrainError(
      "LAMEDUCK_NO_TIME_TO_HOLD",
      place,
      `${taken} leave no time to hold: the reserve and preStop hooks take ${formatDuration(grace - most)}; raise the grace period, or lower the spread`,
    );
  try {
    const parsed = parseConfig({ ...others, grace: grace - time });
    if (cap === undefined) return parsed;
    // An injection sets the cap by its variable, and does not know of the spread.
    const isLowered = inCode.cap === undefined && parseDuration(cap, "cap") > parsed.cap;
    return isLowered ? parsed : parseConfig({ ...others, cap, grace: grace - time });
  } catch (error) {
    if (!(error instanceof DrainError)) throw error;
    const problem = error.message.replace(/^[^:]*: /, "");
    throw new DrainError(error.code, error.place, `${problem} (${place} has taken ${taken})`);
  }
}

function ofLoweredCap(merged: DrainOptions, { cap }: DrainConfig, { time, place }: Spread): string[] {
  if (time === 0 || merged.cap === undefined || parseDuration(merged.cap, "cap") <= cap) return [];
  return [
    `${table.cap.variable}: lowered to the ${formatDuration(cap)} that ${place} leaves of the grace period`,
  ];
}

function parseAt(
  merged: DrainOptions,
  inCode: DrainOptions,
  environment: Environment,
  spread: Spread,
): DrainConfig {
  try {
    return besideSpread(merged, inCode, spread);
  } catch (error) {
    if (!(error instanceof DrainError) || error.place in inCode || error.place === spread.place) throw error;
    const variable = variableOf(error.place, environment);
    if (!variable) throw error;
    throw new DrainError(error.code, variable, error.message.replace(/^[^:]*: /, ""));
  }
}

/** An option that is present but undefined means "not said". */
function drainOptionsOf(options: LameduckOptions): DrainOptions {
  const names = decisionNames.filter((name) => options[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, options[name]]));
}

/** A recording is for diagnosis: a mistake in its variable must not keep a server from serving. */
function traceFrom(
  inCode: unknown,
  environment: Environment,
): { readonly path: string | undefined; readonly warnings: readonly string[] } {
  const given = inCode === undefined ? valueOf(environment, table.trace.variable) : inCode;
  if (given === undefined || (typeof given === "string" && isAbsolute(given)))
    return { path: given, warnings: [] };
  const problem = `${shown(given)} is not an absolute path`;
  if (inCode !== undefined) throw badOption("trace", problem);
  return { path: undefined, warnings: [`${table.trace.variable}: ${problem}; no hold is recorded`] };
}
