import { bases, type Basis } from "./basis.ts";
import { isCount, isMap, shownVersion } from "./values.ts";

/** From one number to another, both included. */
export type NumberRange = readonly [from: number, to: number];

/** What a consumer says of itself with each report. */
export interface ConsumerState {
  readonly kind: string;
  readonly node: string | undefined;
  readonly basis: Basis;
  /** Everything that was withdrawn up to it is applied here. */
  readonly applied: number;
  /** Ranges above `applied` that are applied, too, with gaps below them; ascending. */
  readonly also: readonly NumberRange[];
  /** What leads to pods through it, such as "ingress-class/NAME"; by its kind where it is empty. */
  readonly serves: readonly string[];
  /** Why its state cannot be read. */
  readonly problem: string | undefined;
  /** Why it has not let go although it can be read. */
  readonly reason: string | undefined;
}

/** One line of a consumer's stream to the coordinator. */
export interface ConsumerReport extends ConsumerState {
  /** Of the numbers; null before the coordinator's first answer. */
  readonly epoch: string | null;
  /** The head of the coordinator's last answer. */
  readonly known: number;
  /** How long the answer may take. */
  readonly waitMs: number;
}

/** A message of another major version: nothing else in it is read. */
export interface OtherVersionMessage {
  readonly version: string;
}

const longestWaitMs = 30_000;
/** Ranges in one report, so that it stays small however many withdrawals are stuck. */
export const mostRanges = 100;
const mostServed = 32;
/** Characters of a problem. It may quote what a proxy has answered, and a report that is too long counts as silence. */
const longestProblem = 500;

export function writeConsumerReport(report: ConsumerReport): string {
  const { kind, node, basis, epoch, applied, also, known, waitMs, serves, problem, reason } = report;
  return JSON.stringify({
    version: 1,
    kind,
    node,
    basis,
    epoch,
    applied,
    also: also.length > 0 ? also : undefined,
    known,
    wait: waitMs,
    serves: serves.length > 0 ? serves : undefined,
    problem: problem?.slice(0, longestProblem),
    reason,
  });
}

/** @returns what is wrong with it otherwise. */
export function parseConsumerReport(text: string): ConsumerReport | OtherVersionMessage | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "the report is no JSON";
  }
  if (!isMap(value)) return "the report is no object";
  const { version, kind, node, basis, epoch, applied, known, wait, problem, reason } = value;
  const { also = [], serves = [] } = value;
  if (version !== 1) return { version: shownVersion(version) };
  if (typeof kind !== "string" || !/^[a-z0-9][a-z0-9-]{0,62}$/.test(kind)) return "kind: is no name";
  if (node !== undefined && (typeof node !== "string" || !/^[a-z0-9.-]{1,253}$/.test(node)))
    return "node: is no name";
  if (!bases.includes(basis as Basis)) return `basis: none of ${bases.join(", ")}`;
  if (epoch !== null && (typeof epoch !== "string" || epoch.length > 64)) return "epoch: is none";
  if (!isCount(applied) || !isCount(known)) return "applied and known: must be whole numbers";
  if (!isCount(wait)) return "wait: must be milliseconds";
  if (!areRanges(also, applied)) return "also: must be ascending ranges above applied";
  if (!Array.isArray(serves) || serves.length > mostServed || !serves.every(isServed))
    return "serves: must be names such as ingress-class/nginx";
  return {
    kind,
    node,
    basis: basis as Basis,
    epoch,
    applied,
    also,
    known,
    waitMs: Math.min(wait, longestWaitMs),
    serves: serves as string[],
    problem: typeof problem === "string" ? problem.slice(0, longestProblem) : undefined,
    // Pods are told of it, in a line.
    reason: typeof reason === "string" && /^[ -~]{1,100}$/.test(reason) ? reason : undefined,
  };
}

function areRanges(value: unknown, applied: number): value is readonly NumberRange[] {
  if (!Array.isArray(value) || value.length > mostRanges) return false;
  let above = applied;
  return value.every((range: unknown) => {
    if (!Array.isArray(range) || range.length !== 2) return false;
    const [from, to] = range as unknown[];
    if (!isCount(from) || !isCount(to) || from <= above || to < from) return false;
    above = to;
    return true;
  });
}

function isServed(value: unknown): boolean {
  return typeof value === "string" && value.length <= 300 && /^[a-z-]+(?:\/[\w./:-]+)?$/.test(value);
}
