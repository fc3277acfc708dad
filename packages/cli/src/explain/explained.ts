import { count } from "@lameduck/accounting/words";
import { formatDuration, parseConfig, type Moment, type Replay, type Trace } from "@lameduck/drain";
import { printable } from "@lameduck/drain/common";

/** A hold as it was recorded, and what the decision makes of it now. */
export interface Explained {
  readonly trace: Trace;
  readonly replayed: Replay;
}

/** One sender through the whole hold. */
export interface SenderTimeline {
  /** Undefined for the aggregate of the senders without a place of their own. */
  readonly sender: string | undefined;
  readonly name: string;
  /** Arrivals per second before the end. */
  readonly perSecond: number;
  /** Expected of it at each moment. */
  readonly losses: readonly number[];
  /** Its arrivals in the hold. */
  readonly arrivals: readonly SeenArrival[];
  /** How long the sender had been silent at the end; undefined for the sum of other senders once all of them are told apart. */
  readonly silence: number | undefined;
}

interface SeenArrival {
  /** Milliseconds since the termination. */
  readonly at: number;
  /** A request on an older connection says only that the connection lives. */
  readonly isConnection: boolean;
}

/** The senders that were waited for most, first; the others are left out. */
export function senderTimelines({ trace, replayed: { moments } }: Explained, most: number): SenderTimeline[] {
  const weights = new Map<string | undefined, number>();
  const separate = new Set(
    moments.flatMap(({ pendingSenders }) => pendingSenders.map(({ sender }) => sender)),
  );
  for (const { pendingSenders, expectedLoss } of moments)
    for (const { sender, loss } of pendingSenders)
      if (expectedLoss > 0) weights.set(sender, (weights.get(sender) ?? 0) + loss / expectedLoss);
  return [...weights]
    .sort(([, a], [, b]) => b - a)
    .slice(0, most)
    .map(([sender]) => {
      const isIts = (name: string): boolean => (sender === undefined ? !separate.has(name) : name === sender);
      return senderTimeline(sender, arrivalsIn(trace, isIts), moments);
    });
}

function senderTimeline(
  sender: string | undefined,
  arrivals: readonly SeenArrival[],
  moments: readonly Moment[],
): SenderTimeline {
  const seen = moments.map(({ pendingSenders }) => pendingSenders.find((one) => one.sender === sender));
  const last = seen.findLast((one) => one !== undefined);
  return {
    sender,
    name: sender ?? "other senders",
    perSecond: last?.perSecond ?? 0,
    losses: seen.map((one) => one?.loss ?? 0),
    arrivals,
    silence: seen.at(-1)?.silence,
  };
}

function arrivalsIn({ lines }: Trace, isIts: (sender: string) => boolean): SeenArrival[] {
  return lines.flatMap((line) =>
    line.type === "arrival" && line.at >= 0 && isIts(line.sender)
      ? [{ at: line.at, isConnection: line.kind === "connection" }]
      : [],
  );
}

/** Below it the adaptive policy stops; undefined for the others. */
export function budgetOf({ trace }: Explained): number | undefined {
  const { policy } = parseConfig(trace.header.config);
  return policy.kind === "adaptive" ? policy.lossBudget : undefined;
}

/** Who recorded what, and with which settings. */
export function origin({ trace: { header } }: Explained): string {
  const { policy, floor, cap, prestop } = parseConfig(header.config);
  const when = new Date(header.clock.epoch).toISOString().replace("T", " ").replace("Z", " UTC");
  const lossBudget = policy.kind === "adaptive" ? `, loss budget ${policy.lossBudget}` : "";
  return (
    `${header.by}, PID ${header.pid}: ${header.on} at ${when}; policy ${policy.kind}, floor ${formatDuration(floor)}, ` +
    `cap ${formatDuration(cap)}, preStop ${formatDuration(prestop)}${lossBudget}`
  );
}

/** Why the chart may mislead. */
export function reservations({ trace, replayed }: Explained): string[] {
  const { end, unknown, lines, isUnlearnt } = trace;
  const notes: string[] = [];
  if (!end)
    notes.push(
      `The recording has no end: the process was killed, or its disk was full, ${seconds(replayed.length)} s after the signal or later.`,
    );
  else if (end.leftOut > 0)
    notes.push(
      `${end.leftOut} observations were left out of the recording: what is drawn may differ from what happened.`,
    );
  if (lines.some((line) => line.type === "share"))
    notes.push(
      "Many connections before the hold had left no trace in the kernel, and lameduck-init took habits for faster than they are drawn here.",
    );
  if (unknown.length > 0)
    notes.push(
      `${count(unknown.length, "line")} of another release or program left out, since this release does not know the kind: ${kindsOf(unknown)}.`,
    );
  if (isUnlearnt)
    notes.push(
      "What the pod had learnt from earlier terminations belongs to another release: what is drawn begins without it.",
    );
  const difference = differenceOf(trace, replayed);
  if (difference !== undefined)
    notes.push(`This release's decision differs: with what was recorded it ${difference}.`);
  return notes;
}

/** Times of a recording are rounded, a decision is asked again at its beat, and the cap counts from the signal itself. */
const toleranceMs = 250;

function differenceOf({ header, end }: Trace, replayed: Replay): string | undefined {
  const { reason, stop, recordedStop } = replayed;
  if (!end) return undefined;
  if (stop === undefined || reason === undefined) {
    const isAtCap = end.reason === "cap" && end.at >= parseConfig(header.config).cap - toleranceMs;
    return isAtCap ? undefined : "would not have stopped yet";
  }
  if (reason !== end.reason) return `would end with "${reason}"`;
  const isSame = recordedStop === undefined || Math.abs(stop - recordedStop) <= toleranceMs;
  return isSame ? undefined : `would end at ${seconds(stop)} s`;
}

function kindsOf(unknown: readonly string[]): string {
  const kinds = [...new Set(unknown)];
  const shown = kinds.slice(0, mostKinds).map((kind) => printable(kind).slice(0, 20));
  return [...shown, ...(kinds.length > mostKinds ? ["..."] : [])].join(", ");
}

const mostKinds = 3;

export const seconds = (milliseconds: number): string => (milliseconds / 1_000).toFixed(1);

export const silent = (silence: number | undefined): string =>
  silence === undefined ? "-" : `${seconds(silence)} s`;
