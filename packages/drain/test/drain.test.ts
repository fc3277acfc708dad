import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Drain, type DrainOptions, type Observation, parseConfig } from "../src/index.ts";
import { runVector } from "./vectors.ts";
import { random } from "./random.ts";

/** Senders that came at even gaps before a SIGTERM at 0, and what they do after it. */
const traffic = fc
  .record({
    gaps: fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 1, maxLength: 8 }),
    arrivals: fc.array(fc.record({ at: fc.integer({ min: 0, max: 30_000 }), sender: fc.nat(7) }), {
      maxLength: 60,
    }),
  })
  .map(({ gaps, arrivals }): Observation[] => [
    ...gaps.flatMap((gap, index) =>
      Array.from({ length: 20 }, (_, before) => connection(gap * (before - 20), `s${index}`)),
    ),
    termination,
    ...arrivals.map(({ at, sender }) => connection(at, `s${sender % gaps.length}`)),
  ]);

const settings = fc.record({
  floor: fc.integer({ min: 0, max: 10_000 }),
  lossBudget: fc.double({ min: 1e-6, max: 100, noNaN: true }),
  convergence: fc.integer({ min: 10, max: 60_000 }),
});

const termination: Observation = { type: "termination", at: 0 };

function connection(at: number, sender: string): Observation {
  return { type: "arrival", at, sender, kind: "connection" };
}

function stopOf(config: DrainOptions, observations: readonly Observation[]): number {
  return runVector({ name: "", why: "", config, observations, expect: { stop: 0, reason: "cap" } }).stop;
}

/** Whether the policy has stopped by then, or would if asked: the moment itself is only looked for to the last 2 % of a loss (crossing.ts). */
function stopsBy(at: number, config: DrainOptions, seen: readonly Observation[]): boolean {
  if (stopOf(config, seen) <= at) return true;
  const drain = new Drain(parseConfig(config));
  for (const observation of seen.toSorted((a, b) => a.at - b.at))
    if (observation.at <= at) drain.observe(observation);
  return drain.decide(at).stop;
}

const anyPolicy: fc.Arbitrary<DrainOptions> = fc.oneof(
  fc.record({ policy: fc.constant("fixed" as const), delay: fc.integer({ min: 0, max: 60_000 }) }),
  fc.record({ policy: fc.constant("until-deadline" as const) }),
  fc.record({ policy: fc.constant("quiet" as const), window: fc.integer({ min: 0, max: 60_000 }) }),
  settings.map(({ lossBudget, convergence }) => ({ policy: "adaptive" as const, lossBudget, convergence })),
);

test("no policy ever stops before the floor or after the cap", () => {
  fc.assert(
    fc.property(
      anyPolicy,
      fc.integer({ min: 0, max: 20_000 }),
      fc.integer({ min: 20_000, max: 25_000 }),
      traffic,
      (policy, floor, cap, observations) => {
        const stop = stopOf({ ...policy, floor, cap }, observations);
        assert.ok(stop >= floor && stop <= cap, `${stop} outside ${floor} to ${cap}`);
      },
    ),
  );
});

test("a larger loss budget never holds longer", () => {
  fc.assert(
    fc.property(
      settings,
      fc.double({ min: 1, max: 1_000, noNaN: true }),
      traffic,
      (config, factor, observations) => {
        const strict = stopOf(config, observations);
        const generous = { ...config, lossBudget: config.lossBudget * factor };
        assert.ok(stopsBy(strict, generous, observations), `${strict} with the smaller budget`);
      },
    ),
  );
});

/** When it stops for so many addresses, at random, that let go together. */
function stopOfCrowd(addresses: number, seed: number): number {
  const next = random(seed);
  const perMillisecond = 0.1;
  const seen: Observation[] = [{ type: "watching", at: -60_000 }, termination];
  for (let at = -60_000; at <= 2_000; at -= Math.log(1 - next()) / perMillisecond)
    seen.push(connection(at, `198.18.${Math.floor(next() * addresses)}`));
  return stopOf({ floor: 0 }, seen);
}

test("a thousand or a million addresses hold a pod equally long, and at most a second longer than ten do", () => {
  for (const seed of [1, 2, 3]) {
    const ten = stopOfCrowd(10, seed);
    const thousand = stopOfCrowd(1_000, seed);
    const million = stopOfCrowd(1_000_000, seed);
    assert.ok(Math.abs(million / thousand - 1) < 0.1, `${thousand} and ${million}`);
    assert.ok(Math.abs(thousand - ten) < 1_000, `${ten} and ${thousand}`);
  }
});

test("a hold depends on differences of time only", () => {
  fc.assert(
    fc.property(settings, traffic, fc.integer({ min: -1e6, max: 1e9 }), (config, observations, shift) => {
      const shifted = observations.map((each) => ({ ...each, at: each.at + shift }));
      // Large clocks cost the last bits of a millisecond.
      assert.ok(Math.abs(stopOf(config, shifted) - shift - stopOf(config, observations)) <= 1);
    }),
  );
});

test("any finite observations give a decision, with a finite time at which to ask again", () => {
  const time = fc.double({ min: -1e9, max: 1e9, noNaN: true });
  const observation: fc.Arbitrary<Observation> = fc.oneof(
    fc.record({
      type: fc.constant("arrival" as const),
      at: time,
      sender: fc.string(),
      kind: fc.constantFrom("connection" as const, "request" as const),
    }),
    fc.record({ type: fc.constant("in-flight" as const), at: time, change: fc.integer({ min: -5, max: 5 }) }),
    fc.record({ type: fc.constant("watching" as const), at: time }),
  );
  fc.assert(
    fc.property(anyPolicy, fc.array(observation, { maxLength: 30 }), time, (policy, observations, at) => {
      const drain = new Drain(parseConfig(policy));
      for (const each of observations) drain.observe(each);
      drain.observe({ type: "termination", at });
      const decision = drain.decide(at);
      if (!decision.stop) assert.ok(decision.until > at && decision.until <= at + drain.config.cap + 1);
      assert.ok(Number.isFinite(drain.explain(at + 10).expectedLoss));
    }),
    { numRuns: 1_000 },
  );
});

test("a hold ends at its cap when the expected loss is no number", () => {
  const policy = { kind: "adaptive", lossBudget: NaN, convergence: 4_000 } as const;
  const drain = new Drain({ ...parseConfig({}), policy });
  for (const seen of [termination, connection(1, "a")]) drain.observe(seen);
  const decision = drain.decide(2_000);
  assert.equal(!decision.stop && decision.until, drain.config.cap);
});

test("a million client addresses take bounded memory", () => {
  const drain = new Drain(parseConfig());
  for (let index = 0; index < 1_000_000; index++) drain.observe(connection(index / 10, `client-${index}`));
  drain.observe({ type: "termination", at: 100_000 });
  assert.ok(drain.explain(100_000).senders <= drain.config.maxSenders);
  const decision = drain.decide(100_000);
  assert.equal(decision.stop, false);
  assert.ok(drain.explain(100_000).expectedLoss > 1_000, "the others still count");
});

test("clients that have gone make room for new ones in a full table", () => {
  const drain = new Drain(parseConfig({ maxSenders: 8 }));
  for (let index = 0; index < 8; index++) drain.observe(connection(index, `yesterday-${index}`));
  const hour = 3_600_000;
  for (let index = 0; index < 8_000; index++)
    drain.observe(connection(hour + index * 250, `today-${index % 4}`));
  drain.observe({ type: "termination", at: hour + 2_000_000 });
  // Were the four still in the crowd, nobody would know that they came every second.
  const decision = drain.decide(hour + 2_000_000 + 12_000);
  assert.deepEqual(decision, { stop: true, reason: "quiet" });
});

test("a wait ends when it said it would, also on a clock with fractions of a millisecond", () => {
  const time = fc.double({ min: 0, max: 1e6, noNaN: true });
  fc.assert(
    fc.property(anyPolicy, fc.double({ min: 0, max: 20_000, noNaN: true }), time, (policy, floor, at) => {
      const drain = new Drain(parseConfig({ ...policy, floor }));
      drain.observe({ type: "termination", at });
      let now = at;
      for (let asked = 0; ; asked++) {
        const decision = drain.decide(now);
        if (decision.stop) break;
        assert.ok(asked < 3, "asked again and again");
        now = decision.until;
      }
    }),
    { numRuns: 1_000 },
  );
});

/** When it stops, asked whenever its wait is over and every so often besides. */
function stopAskedEvery(every: number): number {
  const drain = new Drain(parseConfig());
  for (let at = -10_000; at < 0; at += 50) drain.observe(connection(at, "a"));
  drain.observe(termination);
  let next = 50;
  for (let now = 0; ;) {
    for (; next <= now && next < 3_000; next += 50) drain.observe(connection(next, "a"));
    const decision = drain.decide(now);
    if (decision.stop) return now;
    now = Math.min(decision.until, now + every);
  }
}

test("a caller that asks more often than a wait says does not change when the hold ends", () => {
  const often = stopAskedEvery(5);
  const seldom = stopAskedEvery(Infinity);
  assert.ok(Math.abs(often - seldom) < 10, `${often} and ${seldom}`);
});

test("a flood of arrivals has the evidence weighed some twenty times in a hold of five seconds", () => {
  const drain = new Drain(parseConfig());
  let asked = 0;
  let weighed = -Infinity;
  for (let at = -10_000; at < 5_000; at++) {
    drain.observe(at === 0 ? termination : connection(at, `s${at % 500}`));
    const decision = drain.decide(at);
    if (decision.stop || decision.waitingFor !== "silence" || decision.until === weighed) continue;
    weighed = decision.until;
    asked++;
  }
  assert.ok(asked > 10 && asked < 40, `${asked} times`);
});
