import fc from "fast-check";
import { type DrainOptions, type Observation } from "@lameduck/drain";
import { expandVector } from "../../drain/test/vectors.ts";
import { type DecisionName, policyKinds } from "@lameduck/options";
import type { Case } from "./native-decision.ts";

const sender = fc.constantFrom("a", "b", "c", "d", "e");
const at = fc.integer({ min: -60_000, max: 25_000 });
const observation: fc.Arbitrary<Observation> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant("arrival" as const),
      at,
      sender,
      kind: fc.constantFrom("connection" as const, "request" as const),
      asked: fc.constant(true),
      earlier: fc.constantFrom(0, 0, 90, 800),
      old: fc.constantFrom(false, false, true),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("in-flight" as const),
      at,
      change: fc.integer({ min: -2, max: 2 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("watching" as const), at }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("pool" as const), at }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("busy" as const), at }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("released" as const), at }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("unreleased" as const),
      at,
      local: fc.boolean(),
      assumed: fc.constantFrom(0, 1_000, 20_000, 60_000),
    }),
  },
);
const duration = fc.integer({ min: 0, max: 40_000 });
/** All that both have: C and TypeScript are compared for no other. */
const values = {
  policy: fc.constantFrom(...policyKinds),
  settle: duration,
  floor: duration,
  grace: duration,
  cap: duration,
  prestop: duration,
  reserve: duration,
  delay: duration,
  window: duration,
  convergence: duration,
  requestQuiet: duration,
  lossBudget: fc.constantFrom(1e-6, 0.0002, 0.001, 0.1, 0),
  maxSenders: fc.constantFrom(1, 2, 1024),
} satisfies Record<Exclude<DecisionName, "learnt">, fc.Arbitrary<unknown>>;
const options: fc.Arbitrary<DrainOptions> = fc.record(values, { requiredKeys: [] });

const termination: Observation = { type: "termination", at: 0 };

function caseOf(config: DrainOptions, observations: readonly Observation[]): Case {
  return { config, observations: [...observations, termination].sort((a, b) => a.at - b.at) };
}

/** Any observations, in any order of kinds, and any settings, also wrong ones. */
export const anyCase: fc.Arbitrary<Case> = fc
  .tuple(options, fc.array(observation, { maxLength: 60 }))
  .map(([config, seen]) => caseOf(config, seen));

const minutes = (from: number, to: number): fc.Arbitrary<number> =>
  fc.integer({ min: from * 60_000, max: to * 60_000 });

const crowd = fc.record({
  at: minutes(-10, 0.2),
  every: fc.integer({ min: 20, max: 20_000 }),
  senders: fc.integer({ min: 1, max: 200 }),
  lasts: minutes(0, 10),
});

/** Up to five crowds, each of senders that come at even gaps, in a table that is too small. */
export const crowdedCase: fc.Arbitrary<Case> = fc
  .tuple(fc.constantFrom(4, 8, 16, 40), fc.array(crowd, { minLength: 1, maxLength: 5 }))
  .map(([maxSenders, crowds]) => {
    const observations = crowds.map(({ at: from, every, senders, lasts }, index) => ({
      type: "arrival" as const,
      at: from,
      every: Math.max(every, lasts / 500),
      to: Math.min(from + lasts, 60_000),
      sender: `${index}-`,
      senders,
      kind: "connection" as const,
    }));
    const config = { maxSenders, grace: "60s" };
    const vector = { name: "", why: "", config, observations, expect: { stop: 0, reason: "cap" } } as const;
    return caseOf(config, expandVector(vector));
  });

/** Gaps of one sender: their mean, how they are spread, and when it lets go or left before. */
const stream = fc.record({
  mean: fc.constantFrom(20, 100, 400, 2_000, 9_000),
  spread: fc.constantFrom("even" as const, "poisson" as const, "bursts" as const),
  from: minutes(-8, -0.1),
  ends: fc.oneof(fc.integer({ min: 0, max: 30_000 }), minutes(-5, 0)),
  draws: fc.infiniteStream(fc.double({ min: 1e-9, max: 1, noNaN: true })),
});

function* arrivalsOf(
  sender: string,
  { mean, spread, from, ends, draws }: typeof stream extends fc.Arbitrary<infer T> ? T : never,
  pause: { readonly at: number; readonly lasts: number },
): Generator<Observation> {
  const draw = (): number => draws.next().value ?? 0.5;
  const exponential = (): number => -Math.log(draw());
  const most = 400;
  let at = Math.max(from, ends - most * mean);
  for (let count = 0; at < ends && count < 2 * most; count++) {
    if (at < pause.at || at > pause.at + pause.lasts)
      yield { type: "arrival", kind: "connection", sender, at };
    const bursts = draw() < 0.8 ? exponential() / 10 : exponential() * 4.6;
    at += mean * { even: 1, poisson: exponential(), bursts }[spread];
  }
}

/** Senders as there are: each comes at its own gaps until it lets go; some left before, and all pause together. */
export const trafficCase: fc.Arbitrary<Case> = fc
  .record({
    streams: fc.array(stream, { minLength: 1, maxLength: 12 }),
    pause: fc.record({ at: minutes(-5, 0), lasts: fc.constantFrom(0, 0, 3_500, 30_000, 200_000) }),
    prestop: fc.constantFrom(0, 0, 2_500),
    maxSenders: fc.constantFrom(2, 6, 128),
    released: fc.option(fc.integer({ min: 0, max: 20_000 })),
  })
  .map(({ streams, pause, prestop, maxSenders, released }) =>
    caseOf({ grace: "60s", prestop, maxSenders }, [
      { type: "watching", at: -480_000 },
      ...streams.flatMap((one, index) => [...arrivalsOf(`10.0.0.${index}`, one, pause)]),
      ...(released === null ? [] : [{ type: "released" as const, at: released }]),
    ]),
  );
