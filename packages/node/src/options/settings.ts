import { isAbsolute } from "node:path";
import {
  defaultRamp,
  DrainError,
  drainDefaults,
  formatDuration,
  hintsFrom,
  parseConfig,
  parseDuration,
  parseLearnt,
  unusable,
  type DrainConfig,
  type DrainOptions,
  type Duration,
} from "@lameduck/drain";
import { shown } from "@lameduck/drain/common";
import { isInKubernetes, optionsFromEnvironment, variableOf, type Environment } from "./environment.ts";
import { badOption } from "../errors.ts";
import { parseHealth, type FailingHealth, type Health } from "./health.ts";
import { decisionOptions, unknownOptionIn } from "./option-names.ts";
import { isRecord } from "./nested-options.ts";
import { warningsAbout } from "./warnings.ts";
import { misspeltVariables } from "./misspelt.ts";
import {
  parseProbes,
  parseStreams,
  type IsProbe,
  type IsStream,
  type ProbeOptions,
  type StreamOptions,
} from "./requests.ts";
import { parseCoordinator, withoutCoordinator, type CoordinatorSettings, type Mode } from "./coordinator.ts";
import { yieldToCode } from "./injected-times.ts";
import { parseSignals } from "./signals.ts";

/** The part of pino, winston, bunyan or console that is used. */
export interface Logger {
  info(...args: unknown[]): unknown;
  warn?(...args: unknown[]): unknown;
}

/** Everything may be left out. Durations are "5s", "300ms" or milliseconds. */
export interface LameduckOptions extends DrainOptions {
  /** Which requests are probes and hence no traffic, beside the well-known ones. */
  probes?: ProbeOptions;
  /** Which answers last as long as the client likes, beside server-sent events. */
  streams?: StreamOptions;
  /** A health path that fails from SIGTERM on, and how long the load balancer takes to notice. */
  lbHealth?: FailingHealth;
  /** Hold and closing together take at most so long. Default: what preStop hooks leave of the grace period. */
  timeout?: Duration;
  /** Over which time answers begin to say `Connection: close`, so that pools do not all reconnect at once. Default 1 s. */
  ramp?: Duration;
  /** Where phase lines go: a pino- or console-shaped logger, or false. Default: JSON lines on stderr. */
  log?: Logger | false;
  /** Leave the process running at the end. Default: exit with process.exitCode or 0. */
  exit?: boolean;
  /**
   * Which signals mean that the pod is terminated. Default: SIGTERM, and in a pod SIGINT, too, unless it may be somebody's Ctrl-C; that
   * ends the hold at once. False listens to none: call terminate().
   */
  signals?: boolean | readonly NodeJS.Signals[];
  /** SIGTERM handlers of others run when the hold is over ("hold", default) or at once ("leave"). */
  otherHandlers?: "hold" | "leave";
  /**
   * An error that nobody catches while the process serves ends it at once, as in any process ("leave", default), or in order: without a
   * hold, within the reserve, with exit code 1 ("close").
   */
  crashes?: "leave" | "close";
  /**
   * A file, or a directory, on a local volume: there the next hold is recorded, for `lameduck explain`. At most 8 MB; until the termination the latest
   * 20,000 arrivals or more are kept in memory. Default: none.
   */
  trace?: string;
  /**
   * Where the cluster says whether all consumers have let go of this pod, "http://HOST:PORT"; false asks nobody. The pod's name, namespace and uid are in
   * its environment. Default: LAMEDUCK_COORDINATOR, or nobody.
   */
  coordinator?: string | false;
  /** `acknowledged` while the coordinator cannot release the pod: evidence decides ("availability", default), or the cap ("consistency"). */
  mode?: Mode;
  /** Default process.env. */
  environment?: Environment;
}

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
  const unread = learntBefore(given, environment);
  const alone = withoutCoordinator(coordinator, given, inCode);
  const isPod = isInKubernetes(environment);
  const holds = isPod || isAskedFor(byVariables);
  const asked = isPod ? given : outsideKubernetes(given);
  const unusable = forgetUnusable(asked);
  const health = parseHealth(options.lbHealth);
  const { timeout } = options;
  const {
    parsed,
    options: merged,
    warnings: yielded,
  } = yieldToCode(asked, { ...options }, environment, (some) => {
    const whole = parseAt(some, inCode, environment);
    if (timeout !== undefined) boundBy(timeout, some, whole.prestop);
    return waitingFor(health, timeout === undefined ? whole : parseAt(some, inCode, environment));
  });
  // Options in code are checked alike everywhere, as the same code runs in a pod later.
  const drain = holds ? parsed : withoutHold(parsed);
  const trace = traceFrom(options.trace, environment);
  const warnings = [
    ...misspeltVariables(environment),
    ...unread,
    ...(holds ? alone : []),
    ...unusable,
    ...yielded,
    ...coordinator.warnings,
    ...trace.warnings,
  ];
  const ramp = parseDuration(options.ramp === undefined ? defaultRamp : options.ramp, "ramp");
  return Object.freeze({
    isPod,
    holds,
    isKilled: isPod || given.grace !== undefined || timeout !== undefined,
    drain,
    deadline: parseDuration(merged.grace ?? drainDefaults.grace, "grace") - drain.prestop,
    ramp,
    hintAt: hintsFrom(drain, ramp),
    isProbe: parseProbes(options.probes, health?.path === undefined ? [] : [health.path], environment),
    isStream: parseStreams(options.streams, environment),
    health,
    log: parseLog(options.log),
    exit: boolean(options.exit, "exit"),
    signals: parseSignals(options.signals, environment),
    otherHandlers: parseOtherHandlers(options.otherHandlers),
    crashes: parseCrashes(options.crashes, environment),
    trace: trace.path,
    coordinator: coordinator.isMeant ? coordinator : undefined,
    pod: isPod ? environment : undefined,
    warnings: [...warnings, ...warningsAbout(merged, parsed, environment)],
  });
}

/** What a platform hands to new pods, where code has nothing of its own. */
function learntBefore(given: DrainOptions, environment: Environment): string[] {
  const text = environment["LAMEDUCK_LEARNT"]?.trim();
  if (!text || given.learnt !== undefined) return [];
  const learnt = parseLearnt(text);
  if (!learnt) return ["LAMEDUCK_LEARNT: is none that this release reads; it is ignored"];
  given.learnt = learnt;
  return [];
}

/** A stored lesson must not keep a pod from starting: another release may have written it. */
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

function parseAt(merged: DrainOptions, inCode: DrainOptions, environment: Environment): DrainConfig {
  try {
    return parseConfig(merged);
  } catch (error) {
    if (!(error instanceof DrainError) || error.place in inCode) throw error;
    const variable = variableOf(error.place, environment);
    if (!variable) throw error;
    throw new DrainError(error.code, variable, error.message.replace(/^[^:]*: /, ""));
  }
}

/** An option that is present but undefined means "not said". */
function drainOptionsOf(options: LameduckOptions): DrainOptions {
  const names = decisionOptions.filter((name) => options[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, options[name]]));
}

function boolean(value: unknown, option: string): boolean {
  if (value === undefined) return true;
  if (typeof value !== "boolean") throw badOption(option, `${shown(value)} is not true or false`);
  return value;
}

function parseOtherHandlers(value: unknown = "hold"): "hold" | "leave" {
  if (value === "hold" || value === "leave") return value;
  throw badOption("otherHandlers", `${shown(value)} is not "hold" or "leave"`);
}

function parseCrashes(inCode: unknown, environment: Environment): "leave" | "close" {
  const text = environment["LAMEDUCK_CRASHES"]?.trim();
  const value = inCode === undefined ? text || "leave" : inCode;
  if (value === "leave" || value === "close") return value;
  const place = inCode === undefined ? "LAMEDUCK_CRASHES" : "crashes";
  throw badOption(place, `${shown(value)} is not "leave" or "close"`);
}

function parseLog(value: unknown): Logger | false | undefined {
  if (value === undefined || value === false) return value;
  const { info, warn } = Object(value) as Partial<Logger>;
  if (typeof info === "function" && (warn === undefined || typeof warn === "function"))
    return value as Logger;
  throw badOption(
    "log",
    `${shown(value)} is no logger: one has a method info(), and warn() if any is a method, too`,
  );
}

/** A recording is for diagnosis: a mistake in its variable must not keep a server from serving. */
function traceFrom(
  inCode: unknown,
  { LAMEDUCK_TRACE: text }: Environment,
): { readonly path: string | undefined; readonly warnings: readonly string[] } {
  const given = text?.trim();
  if (inCode !== undefined) {
    if (typeof inCode === "string" && isAbsolute(inCode)) return { path: inCode, warnings: [] };
    throw badOption("trace", `${shown(inCode)} is not an absolute path`);
  }
  if (!given || isAbsolute(given)) return { path: given || undefined, warnings: [] };
  const warning = `LAMEDUCK_TRACE: ${shown(given)} is not an absolute path; no hold is recorded`;
  return { path: undefined, warnings: [warning] };
}
