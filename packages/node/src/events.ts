/**
 * The lines by which a process tells how it stops: one JSON object a line, on stderr unless a logger was given.
 * This file is pure and has no dependencies, so that whoever reads the lines need not load the library.
 */

export const phases = ["serving", "lame-duck", "closing", "closed"] as const;
export type Phase = (typeof phases)[number];

interface Common {
  readonly lameduck: "phase";
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly pid: number;
  /** Milliseconds since the termination began. */
  readonly elapsed: number;
}

/** The hold begins: still serving. */
export interface LameDuckEvent extends Common {
  readonly phase: "lame-duck";
  /** The signal, or what was given to terminate(). */
  readonly reason: string;
  readonly policy: string;
  /** Milliseconds. */
  readonly floor: number;
  readonly cap: number;
  /** When SIGKILL is due, in milliseconds since 1970. */
  readonly deadline: number;
  /** Milliseconds that the signal may have waited for a blocked event loop; deadline and cap are that much nearer. */
  readonly late: number;
  readonly inFlight: number;
  readonly open: number;
}

/** Why a hold takes as long as it does: in the event `closing`, and in state().hold at any time of it. */
export interface HoldExplained {
  /** The sender whose silence it waits for, or waited for last; null where it waits for nobody's. */
  readonly waitedFor: WaitedFor | null;
  /** When each condition of the stop was met, in milliseconds since the hold began: floor, silence, requests, in-flight and others. */
  readonly met: Readonly<Record<string, number>>;
  /** The conditions that a stop still lacked. In the event `closing` a cap or a force did not wait for them. */
  readonly unmet: readonly string[];
  /** The release by the cluster that ended the wait for senders; null where none did. */
  readonly released: ReleasedBy | null;
  /** Who connected after the release: that release did not count. */
  readonly overruledBy: string | null;
  /** The same in words: "floor 1.0, 198.18.0.14 (4.1/s before, silent 2.9 s) until 9.7". */
  readonly explanation: string;
}

/** All senders that the cluster knows have stopped sending to the pod. */
export interface ReleasedBy {
  /** How many, of how many: "5/5". */
  readonly consumers: string | null;
  /** Who stopped sending last. */
  readonly last: string | null;
  /** Milliseconds since the hold began; before it, below 0. */
  readonly at: number;
}

/** A sender, or an aggregate of senders, that a hold waits for. */
export interface WaitedFor {
  /** Null for the aggregate of the senders without a place of their own. */
  readonly sender: string | null;
  /** Its rate before, arrivals per second. */
  readonly perSecond: number;
  /** Milliseconds without an arrival, when it was waited for no longer. */
  readonly silence: number;
}

/** The hold is over; the numbers are those behind the decision. */
export interface ClosingEvent extends Common, HoldExplained {
  readonly phase: "closing";
  /** Nobody acknowledges what was sent, and nothing came: silence says nothing of senders. Absent where that was not seen. */
  readonly network?: "cut";
  /** Stop reason: delay, floor, quiet, idle, acknowledged, cap or forced. */
  readonly reason: string;
  /** Milliseconds. */
  readonly hold: number;
  /** Requests expected to arrive still. */
  readonly expectedLoss: number;
  readonly inFlight: number;
  readonly senders: number;
  /** New connections during the hold. */
  readonly connections: number;
  /** Requests on older connections during the hold. */
  readonly requests: number;
  /** Milliseconds since 1970; null when nothing ever arrived. */
  readonly lastArrival: number | null;
  /** Milliseconds of the hold in which the event loop stood still. */
  readonly stalled: number;
  /** Connections open now. */
  readonly open: number;
}

/** The end. */
export interface ClosedEvent extends Common {
  readonly phase: "closed";
  /** "done", "deadline" when something was cut, or "exit" when the application ended the process before. */
  readonly reason: "done" | "deadline" | "exit";
  /** What was still going on when it was cut. */
  readonly cut: { readonly requests: number; readonly connections: number };
  /**
   * WebSockets, streams without an end, and sessions that carry such streams. `ended` counts those that were ended in order. Those without a close
   * frame are in `cut`. `unanswered` counts the WebSockets on which a message was not answered, as far as their bytes tell.
   */
  readonly lasting: { readonly ended: number; readonly unanswered: number };
  readonly hooks: readonly HookOutcome[];
  /** The exit code; null when the process goes on, or until the program ends it in its own way. */
  readonly exitCode: number | null;
}

export interface HookOutcome {
  readonly name: string;
  readonly phase: "lame-duck" | "closing" | "closed";
  readonly result: "done" | "failed" | "timed out" | "skipped";
  /** Milliseconds. */
  readonly took: number;
  readonly error?: string;
}

export type PhaseEvent = LameDuckEvent | ClosingEvent | ClosedEvent;

/** Something worth knowing that changes no phase: a repeated signal, a hook that failed. */
export interface NoticeEvent {
  readonly lameduck: "notice";
  readonly at: number;
  readonly pid: number;
  readonly notice: string;
  readonly message: string;
}

export type LameduckEvent = PhaseEvent | NoticeEvent;

/** What listeners get, by the name of the event. */
export interface LameduckEvents {
  phase: [PhaseEvent];
  "lame-duck": [LameDuckEvent];
  closing: [ClosingEvent];
  closed: [ClosedEvent];
  notice: [NoticeEvent];
}

/** The event in a line of a process's output; undefined for any other line. Fields unknown here are kept. */
export function parseEvent(line: string): LameduckEvent | undefined {
  // Most lines of a server's output are no business of ours: look before parsing.
  if (!line.includes('"lameduck"')) return undefined;
  const value = parseJson(line.trim());
  if (value?.["lameduck"] === "phase" && isPhase(value["phase"]) && isCommon(value))
    return value as unknown as PhaseEvent;
  if (value?.["lameduck"] === "notice" && isCommon(value)) return value as unknown as NoticeEvent;
  return undefined;
}

/** The events among the lines of a whole output. */
export function parseEvents(output: string): LameduckEvent[] {
  return output.split("\n").flatMap((line) => parseEvent(line) ?? []);
}

function parseJson(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function isPhase(value: unknown): boolean {
  return value === "lame-duck" || value === "closing" || value === "closed";
}

function isCommon(value: Record<string, unknown>): boolean {
  return typeof value["at"] === "number" && typeof value["pid"] === "number";
}
