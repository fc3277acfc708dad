import type { Cause } from "./causes.ts";
import type { Outcome, RequestRecord } from "./request.ts";
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
  /** Set when the remedy could not be run, with the reason; counts are then zero. */
  readonly skipped?: string;
  readonly terminations: number;
  readonly sent: number;
  /** Scheduled and not sent (C10); not among `lost`. */
  readonly notSent: number;
  readonly lost: number;
  readonly lostByCause: Readonly<Partial<Record<Cause, number>>>;
  readonly lostByOutcome: Readonly<Partial<Record<Outcome, number>>>;
  readonly lostNew: number;
  readonly lostPooled: number;
  /** Answered in the end, but so late that a caller with a 1 s time-out would have given up. Not among `lost`. */
  readonly slow: number;
  readonly killed: number;
  readonly hold: Quantiles;
  /** When the last sender had converged: the shortest hold that would have lost nothing. */
  readonly oracle: Quantiles;
  /** Lost requests divided by the request rate through the terminated pods, seconds. */
  readonly weff: number;
  /** 95 % interval of lost requests per termination: bootstrap over terminations, or [0, 3/n] by the rule of three. */
  readonly lostPerTermination: { readonly mean: number; readonly low: number; readonly high: number };
  readonly duration: number;
  readonly each: readonly TerminationResult[];
  readonly lostRequests: readonly LostRequest[];
  /** The raw timelines, for pictures; absent in summaries. */
  readonly timeline?: { readonly pods: readonly PodEvent[]; readonly senders: readonly SenderEvent[] };
}

export interface Quantiles {
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
  readonly stopReason: string;
  /** After the deletion; absent when nothing arrived any more. */
  readonly lastArrival?: number;
  /** After the deletion; absent when a sender never converged. */
  readonly oracle?: number;
  readonly lost: number;
  readonly lostByCause: Readonly<Partial<Record<Cause, number>>>;
  readonly killed: boolean;
  readonly exitCode?: number;
}

export interface LostRequest {
  readonly id: number;
  readonly at: number;
  readonly pod?: string;
  readonly sender: string;
  readonly mode: "new" | "pooled";
  readonly outcome: Outcome;
  readonly cause: Cause;
  /** "refused: ingress-2 still chose web-3 2.1 s after its deletion; web-3 had closed its listener 2.0 s before" */
  readonly sentence: string;
}
