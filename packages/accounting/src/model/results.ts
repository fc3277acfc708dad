import { z } from "zod";
import { type Cause, causes } from "./cause.ts";
import { modes, outcomes, podSources } from "./request.ts";
import { count, duration, podEvent, senderEvent, time, type Immutable } from "./timeline.ts";

/*
 * The results document, its types and its schema in one. A newer release of the same version may add fields, so that objects may have
 * more of them than these.
 */

const outcome = z.enum(outcomes);
const cause = z.enum(Object.keys(causes) as [Cause, ...Cause[]]);
const byCause = z.partialRecord(cause, count);

const quantiles = z.object({
  /** Number of values. Where it is 0 the other fields are 0 and mean nothing. */
  count,
  p50: duration,
  p90: duration,
  max: duration,
});

const interval = z.object({
  mean: duration,
  low: duration,
  high: duration,
  /**
   * What `low` and `high` are: a 95 % interval, the least and the most of few values, or the exact bound where nothing was lost. Absent
   * where there was no value at all.
   */
  basis: z.exactOptional(z.enum(["bootstrap", "range", "bound"])),
});

const termination = z.object({
  pod: z.string(),
  deletedAt: time,
  /** Deletion to the last container's exit. */
  total: duration,
  /** Deletion to the moment the pod stopped accepting (closing began, listener closed or exit, whichever came first). */
  hold: duration,
  /** The drain decision's reason, if the pod reported it; else what ended the hold: "listener closed", "exit" or "killed". */
  stopReason: z.string(),
  /** Grace period granted by the deletion. */
  grace: duration,
  /** After the deletion; absent when nothing arrived any more. */
  lastArrival: z.exactOptional(duration),
  /** When the last sender had converged, after the deletion; absent when one never did. */
  oracle: z.exactOptional(duration),
  /** Requests per second through the pod before its deletion; absent when it had no counted time before it. */
  rate: z.exactOptional(duration),
  /** Lost at this pod, and those lost at no terminating pod while this was the termination begun last. */
  lost: count,
  lostByCause: byCause,
  killed: z.boolean(),
  /** Why it was still there then, as far as it was seen. */
  killedBecause: z.exactOptional(z.string()),
  exitCode: z.exactOptional(z.int()),
  /** SIGKILL before the grace period was over, and why, if it is known: "OOMKilled". An orderly stop was impossible. */
  killedEarly: z.exactOptional(z.object({ after: duration, why: z.exactOptional(z.string()) })),
  /** Why it is untested: no load went through it, or its end was not seen. Figures of losses leave it out. */
  untested: z.exactOptional(z.string()),
});

/** How long a route took from a pod's Ready to the first answer. `none`: the pod gave none there. `unknown`: no answer of that route names its pod. */
const firstAnswer = z.union([duration, z.enum(["none", "unknown"])]);

const newPod = z.object({
  pod: z.string(),
  createdAt: time,
  /** Absent where it did not become Ready. */
  readyAt: z.exactOptional(time),
  /** Why it was not Ready at the end, as far as its own status tells. */
  waitsFor: z.exactOptional(z.string()),
  /** By sender or route. */
  firstAnswer: z.record(z.string(), firstAnswer),
});

const start = z.object({
  /** A sender or route. */
  sender: z.string(),
  /** New pods that became Ready: those in `firstAnswer`, in `none` and in `unknown` together. */
  pods: count,
  /** From Ready to the first answer, over the pods that gave one. */
  firstAnswer: quantiles,
  none: count,
  unknown: count,
  /** Lost to pods that were too new (C7). */
  lost: count,
});

const lostRequest = z.object({
  id: count,
  /** When it failed. */
  at: time,
  /** From the moment it should have been sent until it failed: what its caller waited for nothing. */
  waited: duration,
  pod: z.exactOptional(z.string()),
  podKnownBy: z.exactOptional(z.enum(podSources)),
  /** Index in `each` of the termination it is charged to. */
  termination: z.exactOptional(count),
  sender: z.string(),
  mode: z.enum(modes),
  outcome,
  cause,
  /** "refused: ingress-2 still chose web-3 2.1 s after its deletion; web-3 had closed its listener 2.0 s before" */
  sentence: z.string(),
});

const remedy = z.object({
  remedy: z.string(),
  /** One sentence: what was done. */
  description: z.string(),
  /** The program stopped by a Lameduck that it brought itself, under whatever else the remedy did. */
  ownLameduck: z.exactOptional(z.literal(true)),
  /** The policy that decided, where it is another than the remedy's: options in the program's code win. */
  ownPolicy: z.exactOptional(z.string()),
  /** Set when the remedy could not be run, with the reason; counts are then zero. */
  skipped: z.exactOptional(z.string()),
  /** Set when the run ended in the middle, with the reason; what came after that moment is not counted. */
  interrupted: z.exactOptional(z.string()),
  terminations: count,
  /** Terminations of which nothing is known, see `each[].untested`; absent in documents of releases that did not count them. */
  untested: z.exactOptional(count),
  sent: count,
  /** Scheduled and not sent (C10); not among `lost`. */
  notSent: count,
  /** Why not, by errno or library code; "skipped" where there is none, "missing" for slots without a record. */
  notSentBecause: z.record(z.string(), count),
  lost: count,
  lostByCause: byCause,
  lostByOutcome: z.partialRecord(outcome, count),
  lostNew: count,
  lostPooled: count,
  /** Answered in the end, but so late that a caller with a 1 s time-out would have given up. Not among `lost`. */
  slow: count,
  /**
   * Answered in the end, but elsewhere: a proxy tried again, or the client did because the server had sent it away in its protocol (GOAWAY,
   * WebSocket close 1001, the end of an event stream). Not among `lost`; absent if it is unknown.
   */
  resent: z.exactOptional(count),
  /** Terminations that ended with SIGKILL at the end of the grace period. */
  killed: count,
  /** Cut by a sender itself, or lost at no terminating pod and while no termination was under way; the rest of `lost` is in `each`. */
  lostOutside: count,
  hold: quantiles,
  /** When the last sender had converged, over the terminations where all of them did: the shortest hold that would have lost nothing. */
  oracle: quantiles,
  /** Lost requests divided by the request rate through the terminated pods that were tested, seconds; 0 where that rate is not known. */
  weff: duration,
  /** Lost requests per tested termination. */
  lostPerTermination: interval,
  duration,
  each: z.array(termination),
  /** Pods that came after the warm-up; absent in documents of releases that did not look. */
  newPods: z.exactOptional(z.array(newPod)),
  /** How they began, by sender or route; present with `newPods`. */
  starts: z.exactOptional(z.array(start)),
  lostRequests: z.array(lostRequest),
  /** The raw timelines, for pictures; absent in summaries. */
  timeline: z.exactOptional(z.object({ pods: z.array(podEvent), senders: z.array(senderEvent) })),
});

/** The versioned document that `lab`, `rollout`, `simulate` and the report speak. Times and durations are milliseconds. */
export const resultsSchema = z.object({
  schema: z.literal("lameduck.results/v1"),
  tool: z.enum(["lab", "rollout", "simulate"]),
  /** Release of Lameduck. */
  version: z.string(),
  startedAt: z.iso.datetime(),
  seed: z.number(),
  /** Where and how it ran; absent in documents of releases that did not write it. */
  ranOn: z.exactOptional(z.object({ command: z.string(), machine: z.string(), node: z.string() })),
  settings: z.record(z.string(), z.unknown()),
  remedies: z.array(remedy),
});

export type Results = Immutable<z.infer<typeof resultsSchema>>;
export type RemedyResult = Immutable<z.infer<typeof remedy>>;
export type TerminationResult = Immutable<z.infer<typeof termination>>;
export type NewPod = Immutable<z.infer<typeof newPod>>;
export type Start = Immutable<z.infer<typeof start>>;
export type LostRequest = Immutable<z.infer<typeof lostRequest>>;
export type Interval = Immutable<z.infer<typeof interval>>;
export type Quantiles = Immutable<z.infer<typeof quantiles>>;

/** The document's JSON Schema (draft 2020-12), as it stands in docs/reference/results.schema.json. */
export function resultsJsonSchema(): object {
  return {
    title: "Results of Lameduck",
    description: "What docs/reference/results.md explains. Times and durations are milliseconds.",
    ...z.toJSONSchema(resultsSchema, { io: "input" }),
  };
}
