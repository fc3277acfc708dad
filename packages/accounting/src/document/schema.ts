import { z } from "zod";
import { causes, type Cause } from "../causes/cause.ts";
import { outcomes } from "../model/request.ts";
import type { Results, RemedyResult } from "../model/results.ts";

/*
 * The shape of the results document for reading it back, and for docs/results.schema.json. The types of model/ say the same with their
 * reasons; the end of this file does not compile where the two differ. Objects may have more fields than these: a newer release of
 * the same version may add some.
 */

const count = z.int().nonnegative();
const duration = z.number().nonnegative();
const time = z.number();

const outcome = z.enum(outcomes);
const cause = z.enum(Object.keys(causes) as [Cause, ...Cause[]]);
const stopReason = z.enum(["delay", "floor", "quiet", "idle", "acknowledged", "cap", "forced"]);

const quantiles = z.object({ count, p50: duration, p90: duration, max: duration });
const byCause = z.partialRecord(cause, count);

const podEvent = z.intersection(
  z.object({ at: time, pod: z.string() }),
  z.discriminatedUnion("type", [
    z.object({ type: z.literal("created") }),
    z.object({ type: z.literal("started"), container: z.string(), pid: z.exactOptional(z.int()) }),
    z.object({ type: z.literal("listener-opened"), port: z.int() }),
    z.object({ type: z.literal("ready") }),
    z.object({ type: z.literal("unready") }),
    z.object({ type: z.literal("deleted"), grace: duration, why: z.string() }),
    z.object({ type: z.literal("pre-stop-begun"), container: z.string() }),
    z.object({
      type: z.literal("pre-stop-ended"),
      container: z.string(),
      result: z.enum(["done", "failed", "cut"]),
      detail: z.exactOptional(z.string()),
    }),
    z.object({ type: z.literal("signalled"), container: z.string(), signal: z.string() }),
    z.object({
      type: z.literal("phase"),
      phase: z.enum(["lame-duck", "closing", "closed"]),
      reason: z.exactOptional(stopReason),
      detail: z.exactOptional(z.record(z.string(), z.unknown())),
    }),
    z.object({ type: z.literal("listener-closed"), port: z.int() }),
    z.object({ type: z.literal("killed"), container: z.string() }),
    z.object({
      type: z.literal("exited"),
      container: z.string(),
      code: z.exactOptional(z.int()),
      signal: z.exactOptional(z.string()),
      detail: z.exactOptional(z.string()),
    }),
    z.object({ type: z.literal("crashed"), container: z.string(), detail: z.string() }),
    z.object({ type: z.literal("gone") }),
  ]),
);

const senderEvent = z.intersection(
  z.object({ at: time, sender: z.string() }),
  z.discriminatedUnion("type", [
    z.object({ type: z.literal("added"), pod: z.string() }),
    z.object({ type: z.literal("converged"), pod: z.string() }),
    z.object({ type: z.literal("severed"), pod: z.string(), connections: count }),
    z.object({ type: z.literal("empty") }),
    z.object({ type: z.literal("filled") }),
    z.object({ type: z.literal("reloaded"), until: z.exactOptional(time) }),
  ]),
);

const termination = z.object({
  pod: z.string(),
  deletedAt: time,
  total: duration,
  hold: duration,
  stopReason: z.string(),
  grace: duration,
  lastArrival: z.exactOptional(duration),
  oracle: z.exactOptional(duration),
  rate: z.exactOptional(duration),
  lost: count,
  lostByCause: byCause,
  killed: z.boolean(),
  exitCode: z.exactOptional(z.int()),
  killedEarly: z.exactOptional(z.object({ after: duration, why: z.exactOptional(z.string()) })),
  untested: z.exactOptional(z.string()),
});

const lostRequest = z.object({
  id: count,
  at: time,
  waited: duration,
  pod: z.exactOptional(z.string()),
  podKnownBy: z.exactOptional(z.enum(["choice", "header", "proxy", "tuple", "time"])),
  termination: z.exactOptional(count),
  sender: z.string(),
  mode: z.enum(["new", "pooled"]),
  outcome,
  cause,
  sentence: z.string(),
});

const remedy = z.object({
  remedy: z.string(),
  description: z.string(),
  ownLameduck: z.exactOptional(z.literal(true)),
  skipped: z.exactOptional(z.string()),
  interrupted: z.exactOptional(z.string()),
  terminations: count,
  untested: z.exactOptional(count),
  sent: count,
  notSent: count,
  notSentBecause: z.record(z.string(), count),
  lost: count,
  lostByCause: byCause,
  lostByOutcome: z.partialRecord(outcome, count),
  lostNew: count,
  lostPooled: count,
  slow: count,
  resent: z.exactOptional(count),
  killed: count,
  lostOutside: count,
  hold: quantiles,
  oracle: quantiles,
  weff: duration,
  lostPerTermination: z.object({
    mean: duration,
    low: duration,
    high: duration,
    basis: z.exactOptional(z.enum(["bootstrap", "range", "bound"])),
  }),
  duration,
  each: z.array(termination),
  lostRequests: z.array(lostRequest),
  timeline: z.exactOptional(z.object({ pods: z.array(podEvent), senders: z.array(senderEvent) })),
});

export const resultsVersion = "lameduck.results/v1" satisfies Results["schema"];

export const resultsSchema = z.object({
  schema: z.literal(resultsVersion),
  tool: z.enum(["lab", "rollout", "simulate"]),
  version: z.string(),
  startedAt: z.iso.datetime(),
  seed: z.number(),
  settings: z.record(z.string(), z.unknown()),
  remedies: z.array(remedy),
});

/** Fails to compile where the schema and the types say different things, optional fields included. */
export type SchemaSaysWhatTheTypesSay = True<Same<Plain<z.infer<typeof resultsSchema>>, Plain<Results>>>;
type True<T extends true> = T;
// oxlint-disable typescript/no-unnecessary-type-parameters -- the parameter is the device that makes the comparison exact
/** Two generic functions are assignable only where their conditional types are identical. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
// oxlint-enable typescript/no-unnecessary-type-parameters
/** Without readonly, intersections flattened. */
type Plain<T> = T extends object ? { -readonly [K in keyof T]: Plain<T[K]> } : T;

/** The document's JSON Schema (draft 2020-12), as it stands in docs/results.schema.json. */
export function resultsJsonSchema(): object {
  return {
    title: "Results of Lameduck",
    description: "What docs/results.md explains. Times and durations are milliseconds.",
    ...z.toJSONSchema(resultsSchema, { io: "input" }),
  };
}

export interface ResultsParts {
  readonly tool: Results["tool"];
  /** Release of Lameduck. */
  readonly version: string;
  readonly startedAt: Date;
  readonly seed: number;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly remedies: readonly RemedyResult[];
}

export function buildResults({ startedAt, ...parts }: ResultsParts): Results {
  return { schema: resultsVersion, ...parts, startedAt: startedAt.toISOString() };
}
