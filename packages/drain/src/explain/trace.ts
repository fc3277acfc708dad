import { learntVersion, unusable } from "../belief/learning.ts";
import { parseConfig, type DrainConfig } from "../config.ts";
import type { StopReason, Wait } from "../decision.ts";
import { DrainError } from "../errors.ts";
import type { Observation } from "../observation.ts";
import type { DrainOptions } from "../options.ts";

/**
 * A recorded hold: JSON lines, written by the library and by lameduck-init alike. Times are milliseconds since the termination. The first line is the
 * header; then come observations as decision vectors spell them, decisions, and the end. docs/tools/explain.md describes them for users.
 */
export interface TraceHeader {
  readonly lameduck: "trace";
  readonly version: 1;
  /** Who wrote it, as "lameduck-init 0.1.0". */
  readonly by: string;
  readonly pid: number;
  /** What began the termination. */
  readonly on: string;
  readonly clock: {
    /** When the termination began, in milliseconds since 1970. */
    readonly epoch: number;
    readonly unit: "ms";
  };
  readonly config: DrainOptions;
}

/** What lameduck-init learns later of the past. The library needs none of it: a program sees its own traffic. */
type Correction =
  /** The rates that senders had before the hold are known from here on. */
  | { readonly type: "settled"; readonly at: number }
  /** Some arrivals of this sender were probes. All are forgotten, and the others are told again. */
  | { readonly type: "forgotten"; readonly at: number; readonly sender: string }
  /** Only this share of the connections before the hold has been told. */
  | { readonly type: "share"; readonly at: number; readonly told: number };

/** `told`: when the decision was told of it, where that was later than it happened. */
export type Told<T> = T & { readonly told?: number };

export interface DecisionLine {
  readonly type: "decision";
  readonly at: number;
  /** Absent where the decision was to stop. */
  readonly waitingFor?: Wait;
  readonly reason?: StopReason;
}

interface EndLine {
  readonly type: "end";
  readonly at: number;
  readonly reason: StopReason;
  /** Observations that were left out, at the bound of the file or of what is remembered. */
  readonly leftOut: number;
}

export type TraceLine = Told<Observation> | Told<Correction> | DecisionLine;

export interface Trace {
  readonly header: TraceHeader;
  readonly lines: readonly TraceLine[];
  /** Undefined where the process was killed, or its disk full, before. */
  readonly end: EndLine | undefined;
  /** The kind of each line that this release does not know: of a later release, or of an earlier one. */
  readonly unknown: readonly string[];
  /** The pod had learnt with the hypotheses of another release: without it, the replay begins with the prior of this one. */
  readonly isUnlearnt: boolean;
}

/** The settings in the form in which decision vectors have them. */
export function optionsOf(config: DrainConfig): DrainOptions {
  const { policy, floor, cap, prestop, ...plain } = config;
  const { kind, ...rest } = policy;
  const { prior, ...ofPolicy } = rest as { prior?: readonly number[] };
  return {
    policy: kind,
    floor: floor + prestop,
    cap,
    grace: cap + prestop,
    prestop,
    reserve: 0,
    ...ofPolicy,
    ...(prior && { learnt: { version: learntVersion, terminations: 1, weights: prior } }),
    ...plain,
  };
}

/**
 * Lines that are no JSON objects are left out, so that a trace may be cut from a log.
 * @param name of the file, for messages.
 * @throws {DrainError}
 */
export function parseTrace(text: string, name: string): Trace {
  const rows = rowsOf(text);
  const first = rows.findIndex(({ value }) => value?.["lameduck"] === "trace");
  if (first < 0) throw bad(name, 'it has no line of a trace\'s header, {"lameduck":"trace", ...}');
  const { header, isUnlearnt } = headerIn(rows[first]!, name);
  const lines: TraceLine[] = [];
  const unknown: string[] = [];
  for (const row of rows.slice(first + 1)) {
    const { type } = row.value ?? {};
    if (type === undefined) continue;
    const check = typeof type === "string" && Object.hasOwn(fields, type) ? fields[type] : undefined;
    if (!check) unknown.push(typeof type === "string" ? type : JSON.stringify(type));
    else {
      checkRow(row, check, name);
      if (type === "end")
        return whole({ header, lines, unknown, isUnlearnt, end: row.value as unknown as EndLine }, name);
      lines.push(row.value as unknown as TraceLine);
    }
  }
  return whole({ header, lines, unknown, isUnlearnt, end: undefined }, name);
}

function whole(trace: Trace, name: string): Trace {
  if (!trace.lines.some(({ type }) => type === "termination"))
    throw bad(name, "it ends before the termination, and says nothing of the hold");
  return trace;
}

interface Row {
  readonly number: number;
  readonly value: Readonly<Record<string, unknown>> | undefined;
}

function rowsOf(text: string): Row[] {
  return text.split("\n").map((line, index) => ({ number: index + 1, value: objectIn(line) }));
}

function objectIn(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    // The last line of a process that was killed, or a stranger's.
    return undefined;
  }
}

function headerIn({ number, value }: Row, name: string): Pick<Trace, "header" | "isUnlearnt"> {
  const place = `${name}:${number}`;
  const { version, by, clock, config } = value as Partial<Record<keyof TraceHeader, unknown>>;
  if (version !== 1)
    throw new DrainError(
      "LAMEDUCK_TRACE_VERSION",
      place,
      `it is of version ${JSON.stringify(version)}, and this release reads version 1`,
    );
  if (typeof by !== "string" || typeof config !== "object" || config === null || Array.isArray(config))
    throw bad(place, "the header must say who wrote it (by) and with which settings (config)");
  const { epoch } = Object(clock) as { epoch?: unknown };
  if (!isTime(epoch)) throw bad(place, "the header's clock must have a number, epoch");
  const header = { ...value, config: replayable(config) } as unknown as TraceHeader;
  checkSettings(header.config, place);
  return { header, isUnlearnt: unusable((config as DrainOptions).learnt) !== undefined };
}

/** The settings, such that this release takes them. */
function replayable(config: DrainOptions): DrainOptions {
  const { cap, grace, prestop } = config;
  const lacking = Number(cap) - (Number(grace) - Number(prestop));
  return {
    ...config,
    // All three are rounded.
    ...(lacking > 0 && lacking < 1 && { grace: Number(grace) + 1 }),
    ...(unusable(config.learnt) !== undefined && { learnt: null }),
  };
}

function checkSettings(config: DrainOptions, place: string): void {
  try {
    parseConfig(config);
  } catch (error) {
    if (!(error instanceof DrainError)) throw error;
    throw new DrainError(error.code, place, error.message);
  }
}

type Check = (value: unknown) => boolean;

const isTime: Check = (value) => typeof value === "number" && Math.abs(value) < 1e15;
const isText: Check = (value) => typeof value === "string";
const isAmount: Check = (value) => typeof value === "number" && value >= 0 && value < 1e12;
const absentOr =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const is =
  (...values: readonly unknown[]): Check =>
  (value) =>
    values.includes(value);

/** What each kind of line must have beside its time. */
const fields: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  watching: {},
  termination: {},
  arrival: {
    sender: isText,
    kind: is("connection", "request"),
    asked: absentOr(is(true, false)),
    earlier: absentOr(isAmount),
    old: absentOr(is(true, false)),
  },
  asked: { sender: isText, requests: isAmount },
  "in-flight": { change: isTime },
  pool: {},
  busy: {},
  released: { consumers: absentOr(isText), last: absentOr(isText) },
  unreleased: { local: absentOr(is(true, false)), assumed: absentOr(isAmount) },
  force: {},
  settled: {},
  forgotten: { sender: isText },
  share: { told: isAmount },
  decision: { waitingFor: absentOr(isText), reason: absentOr(isText) },
  end: { reason: isText, leftOut: isAmount },
};

function checkRow({ number, value = {} }: Row, checks: Readonly<Record<string, Check>>, name: string): void {
  const all: Readonly<Record<string, Check>> = { at: isTime, told: absentOr(isTime), ...checks };
  const wrong = Object.keys(all).find((field) => !all[field]!(value[field]));
  if (wrong !== undefined)
    throw bad(`${name}:${number}`, `${String(value["type"])}.${wrong} is ${JSON.stringify(value[wrong])}`);
}

function bad(place: string, problem: string): DrainError {
  return new DrainError("LAMEDUCK_TRACE_INVALID", place, problem);
}
