import { Conditions, type Timeline } from "./conditions.ts";
import { parseConfig } from "../config.ts";
import type { StopReason } from "../decision.ts";
import { Drain } from "../drain.ts";
import type { Observation } from "../observation.ts";
import type { PendingSender } from "../senders/senders.ts";
import type { DecisionLine, Trace, TraceLine } from "./trace.ts";

/** The belief at one moment of a hold. */
export interface Moment {
  /** Milliseconds since the termination. */
  readonly at: number;
  readonly expectedLoss: number;
  /** The sender with the largest expected loss first. */
  readonly pendingSenders: readonly PendingSender[];
}

export interface Replay {
  /** When the replayed decision first allows to stop, asked at the recorded moments; undefined where it never does. */
  readonly stop: number | undefined;
  /** When the recorded decision allowed to stop. */
  readonly recordedStop: number | undefined;
  readonly reason: StopReason | undefined;
  readonly timeline: Timeline;
  /** The length of the hold, or of an incomplete trace. */
  readonly length: number;
  readonly moments: readonly Moment[];
}

/**
 * Feeds the decision with what was recorded.
 * @param count how many moments of the hold to look at, evenly spread from its beginning to its end.
 * @throws {DrainError} for settings that this release does not know.
 */
export function replay(trace: Trace, count = 0): Replay {
  const config = parseConfig(trace.header.config);
  const { lines } = trace;
  const length = trace.end?.at ?? lines.reduce((latest, line) => Math.max(latest, toldAt(line)), 0);
  let fed: Observation[] = [];
  let drain = new Drain(config);
  const followed = {
    pendingSenders: (now: number) => drain.pendingSenders(now),
    explain: (now: number) => drain.explain(now),
    get release() {
      return drain.release;
    },
  };
  const conditions = new Conditions(followed, 0);
  const moments: Moment[] = [];
  let recordedStop: number | undefined;
  let ended: { stop: number; reason: StopReason } | undefined;
  const next = (): number => (moments.length * length) / Math.max(1, count - 1);
  const look = (until: number): void => {
    for (let at = next(); moments.length < count && at < until; at = next())
      moments.push({
        at,
        expectedLoss: drain.explain(at).expectedLoss,
        pendingSenders: drain.pendingSenders(at),
      });
  };
  const decide = ({ at, reason: recorded }: DecisionLine): void => {
    const decision = drain.decide(at);
    conditions.decided(at, decision);
    ended = decision.stop ? { stop: ended?.stop ?? at, reason: decision.reason } : undefined;
    recordedStop = recorded === undefined ? undefined : (recordedStop ?? at);
  };
  const restart = (kept: readonly Observation[]): void => {
    drain = new Drain(config);
    for (const observation of kept) drain.observe(observation);
    fed = [...kept];
  };
  for (const line of lines) {
    look(toldAt(line));
    if (line.type === "decision") decide(line);
    else if (line.type === "settled") restart(lastOfEach(fed));
    else if (line.type === "forgotten") restart(fed.filter((one) => !isOf(one, line.sender)));
    else if (line.type !== "share") {
      fed.push(line);
      drain.observe(line);
    }
  }
  look(length + 1);
  // The trace of a killed process has no last line that says what it waited for.
  if (!trace.end) conditions.decided(length, drain.decide(length));
  const timeline = conditions.timeline(length);
  return { stop: ended?.stop, recordedStop, reason: ended?.reason, timeline, length, moments };
}

function toldAt(line: TraceLine): number {
  return "told" in line && line.type !== "share" ? Math.max(line.at, line.told ?? line.at) : line.at;
}

function isOf(observation: Observation, sender: string): boolean {
  return observation.type === "arrival" && observation.sender === sender;
}

/** Keeps only the last arrival of each sender: that it sent, and not how often. */
function lastOfEach(fed: readonly Observation[]): Observation[] {
  const last = new Map<string, Observation>();
  for (const one of fed) if (one.type === "arrival") last.set(one.sender, one);
  return fed.filter((one) => one.type !== "arrival" || last.get(one.sender) === one);
}
