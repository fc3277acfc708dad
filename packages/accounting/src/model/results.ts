import type { Cause } from "../causes/cause.ts";
import type { ConnectionMode, Outcome, RequestRecord } from "./request.ts";
import type { PodEvent, SenderEvent } from "./timeline.ts";

/** Everything seen in one run of one remedy; accounting turns it into results. */
export interface RunRecording {
  readonly remedy: string;
  readonly records: readonly RequestRecord[];
  readonly podEvents: readonly PodEvent[];
  readonly senderEvents: readonly SenderEvent[];
  /** Requests that came before this are warm-up and not counted. */
  readonly countedFrom: number;
  /** Number of requests the schedule asked for after `countedFrom`. */
  readonly scheduled: number;
  readonly ended: number;
}

/** The versioned document that `lab`, `rollout`, `simulate` and the report speak. Times and durations are milliseconds. */
export interface Results {
  readonly schema: "lameduck.results/v1";
  readonly tool: "lab" | "rollout" | "simulate";
  readonly version: string;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly seed: number;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly remedies: readonly RemedyResult[];
}

export interface RemedyResult {
  readonly remedy: string;
  /** One sentence: what was done. */
  readonly description: string;
  /** The program stopped by a Lameduck that it brought itself, under whatever else the remedy did. */
  readonly ownLameduck?: true;
  /** Set when the remedy could not be run, with the reason; counts are then zero. */
  readonly skipped?: string;
  /** Set when the run ended in the middle, with the reason; what came after that moment is not counted. */
  readonly interrupted?: string;
  readonly terminations: number;
  /** Terminations of which nothing is known, see `each[].untested`; absent in documents of releases that did not count them. */
  readonly untested?: number;
  readonly sent: number;
  /** Scheduled and not sent (C10); not among `lost`. */
  readonly notSent: number;
  /** Why not, by errno or library code; "skipped" where there is none, "missing" for slots without a record. */
  readonly notSentBecause: Readonly<Record<string, number>>;
  readonly lost: number;
  readonly lostByCause: Readonly<Partial<Record<Cause, number>>>;
  readonly lostByOutcome: Readonly<Partial<Record<Outcome, number>>>;
  readonly lostNew: number;
  readonly lostPooled: number;
  /** Answered in the end, but so late that a caller with a 1 s time-out would have given up. Not among `lost`. */
  readonly slow: number;
  /**
   * Answered in the end, but elsewhere: a proxy tried again, or the client did because the server had sent it away in its protocol (GOAWAY,
   * WebSocket close 1001, the end of an event stream). Not among `lost`; absent if it is unknown.
   */
  readonly resent?: number;
  /** Terminations that ended with SIGKILL at the end of the grace period. */
  readonly killed: number;
  /**
   * Cut by a sender itself, or lost at no terminating pod and while no termination was under way; the rest of `lost` is in `each`.
   */
  readonly lostOutside: number;
  readonly hold: Quantiles;
  /** When the last sender had converged, over the terminations where all of them did: the shortest hold that would have lost nothing. */
  readonly oracle: Quantiles;
  /** Lost requests divided by the request rate through the terminated pods that were tested, seconds; 0 where that rate is not known. */
  readonly weff: number;
  /** Lost requests per tested termination; `basis` says what `low` and `high` are. */
  readonly lostPerTermination: Interval;
  readonly duration: number;
  readonly each: readonly TerminationResult[];
  readonly lostRequests: readonly LostRequest[];
  /** The raw timelines, for pictures; absent in summaries. */
  readonly timeline?: { readonly pods: readonly PodEvent[]; readonly senders: readonly SenderEvent[] };
}

/** What `low` and `high` are: a 95 % interval, the least and the most of few values, or the exact bound where nothing was lost. */
type Basis = "bootstrap" | "range" | "bound";

export interface Interval {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
  /** Absent where there was no value at all. */
  readonly basis?: Basis;
}

export interface Quantiles {
  /** How many values there were; where it is 0 the others are 0 and mean nothing. */
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly max: number;
}

export interface TerminationResult {
  readonly pod: string;
  readonly deletedAt: number;
  /** Deletion to the last container's exit. */
  readonly total: number;
  /** Deletion to the moment the pod stopped accepting (closing began, listener closed or exit, whichever came first). */
  readonly hold: number;
  /** The drain decision's reason, if the pod reported it; else what ended the hold: "listener closed", "exit" or "killed". */
  readonly stopReason: string;
  /** Grace period granted by the deletion. */
  readonly grace: number;
  /** After the deletion; absent when nothing arrived any more. */
  readonly lastArrival?: number;
  /** When the last sender had converged, after the deletion; absent when one never did. */
  readonly oracle?: number;
  /** Requests per second through the pod before its deletion; absent when it had no counted time before it. */
  readonly rate?: number;
  /** Lost at this pod, and those lost at no terminating pod while this was the termination begun last. */
  readonly lost: number;
  readonly lostByCause: Readonly<Partial<Record<Cause, number>>>;
  readonly killed: boolean;
  readonly exitCode?: number;
  /** SIGKILL before the grace period was over, and why, if it is known: "OOMKilled". An orderly stop was impossible. */
  readonly killedEarly?: { readonly after: number; readonly why?: string };
  /** Why it is untested: no load went through it, or its end was not seen. Figures of losses leave it out. */
  readonly untested?: string;
}

export interface LostRequest {
  readonly id: number;
  /** When it failed, on the run's clock. */
  readonly at: number;
  /** From the moment it should have been sent until it failed: what its caller waited for nothing. */
  readonly waited: number;
  readonly pod?: string;
  readonly podKnownBy?: "choice" | "header" | "proxy" | "tuple" | "time";
  /** Index in `each` of the termination it is charged to. */
  readonly termination?: number;
  readonly sender: string;
  readonly mode: ConnectionMode;
  readonly outcome: Outcome;
  readonly cause: Cause;
  /** "refused: ingress-2 still chose web-3 2.1 s after its deletion; web-3 had closed its listener 2.0 s before" */
  readonly sentence: string;
}
