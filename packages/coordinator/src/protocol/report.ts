import { isMap, bases, type Basis } from "@lameduck/protocol";
import { isNodeProxy } from "@lameduck/senders";
import type { Ranges, Report } from "../state/consumer.ts";

/** The body of `POST /v1/consumers/{name}`. */
export interface PostedReport {
  readonly report: Report;
  /** Null before the coordinator's first answer. */
  readonly epoch: string | null;
  /** The head of the coordinator's last answer. */
  readonly known: number;
  /** Milliseconds that the answer may take. */
  readonly wait: number;
}

/** Milliseconds. */
const longestWait = 30_000;
const mostRanges = 100;
const mostServed = 32;

/** A report of another major version: nothing else in it is read. */
export interface ForeignReport {
  readonly version: string;
}

/** @param name from the path: "KIND/NAME", or only the name. @returns what is wrong with it otherwise. */
export function parseReport(text: string, name: string): PostedReport | ForeignReport | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "the body is no JSON";
  }
  if (!isMap(value)) return "the body is no object";
  const {
    version,
    kind,
    node,
    basis,
    epoch,
    applied,
    known,
    wait,
    also = [],
    serves = [],
    problem,
    reason,
  } = value;
  if (version !== 1) return { version: typeof version === "number" ? String(version) : "unknown" };
  if (typeof kind !== "string" || !/^[a-z0-9][a-z0-9-]{0,62}$/.test(kind)) return "kind: is no name";
  const own = name.startsWith(`${kind}/`) ? name.slice(kind.length + 1) : name;
  if (!/^[\w.:-]{1,253}$/.test(own)) return "the name in the path is none";
  if (node !== undefined && (typeof node !== "string" || !/^[a-z0-9.-]{1,253}$/.test(node)))
    return "node: is no name";
  if (!bases.includes(basis as Basis)) return `basis: none of ${bases.join(", ")}`;
  if (epoch !== null && (typeof epoch !== "string" || epoch.length > 64)) return "epoch: is none";
  if (!isNumber(applied) || !isNumber(known)) return "applied and known: must be whole numbers";
  if (!isNumber(wait)) return "wait: must be milliseconds";
  if (!areRanges(also, applied)) return "also: must be ascending ranges above applied";
  if (!Array.isArray(serves) || serves.length > mostServed || !serves.every(isNeed))
    return "serves: must be names such as ingress-class/nginx";
  const report: Report = {
    kind,
    name: own,
    node,
    basis: basis as Basis,
    applied,
    also,
    serves: serves as string[],
    problem: typeof problem === "string" ? problem.slice(0, 500) : undefined,
    // Pods are told of it, in a line.
    reason: typeof reason === "string" && /^[ -~]{1,100}$/.test(reason) ? reason : undefined,
  };
  if (isNodeProxy(report) && own !== node) return "node: a proxy of a node has that node's name";
  return { report, epoch, known, wait: Math.min(wait, longestWait) };
}

function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function areRanges(value: unknown, applied: number): value is Ranges {
  if (!Array.isArray(value) || value.length > mostRanges) return false;
  let above = applied;
  return value.every((range: unknown) => {
    if (!Array.isArray(range) || range.length !== 2) return false;
    const [from, to] = range as unknown[];
    if (!isNumber(from) || !isNumber(to) || from <= above || to < from) return false;
    above = to;
    return true;
  });
}

function isNeed(value: unknown): boolean {
  return typeof value === "string" && value.length <= 300 && /^[a-z-]+(?:\/[\w./:-]+)?$/.test(value);
}
