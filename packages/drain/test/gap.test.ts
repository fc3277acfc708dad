import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  Conditions,
  Drain,
  type DrainOptions,
  type Observation,
  parseConfig,
  timelineText,
} from "../src/index.ts";
import { runVector } from "./vectors.ts";

const termination: Observation = { type: "termination", at: 0 };
const gapMs = 200;
const longestWaitMs = 3_000;
const inUseMs = 3_000;
const busyLastsMs = 750;
const longestBusyWaitMs = 10_000;

function pool(at: number): Observation {
  return { type: "pool", at };
}

function busy(at: number): Observation {
  return { type: "busy", at };
}

function outcomeOf(config: DrainOptions, seen: readonly Observation[]) {
  return runVector({ name: "", why: "", config, observations: seen, expect: { stop: 0, reason: "cap" } });
}

/** Bursts, as a pool has them that is used from its latest connection on. */
const uses = fc
  .array(
    fc.record({
      from: fc.integer({ min: -2_000, max: 9_000 }),
      every: fc.integer({ min: 1, max: 400 }),
      count: fc.integer({ min: 1, max: 60 }),
    }),
    { maxLength: 8 },
  )
  .map((bursts) =>
    bursts.flatMap(({ from, every, count }) =>
      Array.from({ length: count }, (_, index) => from + index * every),
    ),
  );
const busyTimes = fc.array(fc.integer({ min: -2_000, max: 24_000 }), { maxLength: 40 });
/** None that comes while a gap is waited for: who still sends is waited for, whatever pools do. */
const arrivals = fc
  .array(fc.record({ at: fc.integer({ min: -20_000, max: 900 }), sender: fc.constantFrom("a", "b", "c") }), {
    maxLength: 30,
  })
  .map((all) => all.map((one): Observation => ({ type: "arrival", kind: "connection", ...one })));
const released = fc
  .option(fc.integer({ min: -1_000, max: 9_000 }))
  .map((at): Observation[] => (at === null ? [] : [{ type: "released", at }]));

test("a stop that all else allows comes at the first gap of 200 ms, or after three seconds", () => {
  fc.assert(
    fc.property(uses, fc.integer({ min: 0, max: 3_000 }), (at, floor) => {
      const { stop } = outcomeOf({ floor }, [termination, ...at.map(pool)]);
      const isGap = (now: number): boolean => {
        const last = at.reduce((latest, one) => (one <= now ? Math.max(latest, one) : latest), -Infinity);
        return now - last >= gapMs || now >= floor + longestWaitMs;
      };
      assert.ok(isGap(stop), `no gap at ${stop}`);
      for (let now = floor; now < stop - 1; now++) assert.ok(!isGap(now), `a gap at ${now}, before ${stop}`);
    }),
    { numRuns: 300 },
  );
});

test("requests of pools prolong a hold, whatever else comes, by three seconds at most and never beyond the cap", () => {
  fc.assert(
    fc.property(arrivals, released, uses, (seen, word, at) => {
      const rest: Observation[] = [{ type: "watching", at: -30_000 }, termination, ...seen, ...word];
      const without = outcomeOf({}, rest).stop;
      const { stop } = outcomeOf({}, [...rest, ...at.map(pool)]);
      // How often evidence is weighed hangs on when it was asked for.
      assert.ok(stop >= without / (1 + 7 / 64), `${stop} instead of ${without}`);
      assert.ok(
        stop <= Math.min(25_000, without * (1 + 7 / 64) + longestWaitMs),
        `${stop}, without ${without}`,
      );
    }),
    { numRuns: 500 },
  );
});

test("one more request of a pool never makes a hold shorter", () => {
  fc.assert(
    fc.property(released, uses, fc.integer({ min: -2_000, max: 12_000 }), (word, at, more) => {
      const rest = [termination, ...word, ...at.map(pool)];
      const { stop } = outcomeOf({}, rest);
      const longer = outcomeOf({}, [...rest, pool(more)]).stop;
      assert.ok(longer >= stop - 1e-6, `${longer} instead of ${stop}`);
    }),
    { numRuns: 500 },
  );
});

test("busy processors prolong a hold whose pools are in use, by the longest wait at most; without pools by nothing", () => {
  fc.assert(
    fc.property(released, uses, busyTimes, (word, at, busyAt) => {
      const rest = [termination, ...word, ...at.map(pool)];
      const { stop: without } = outcomeOf({}, rest);
      const { stop } = outcomeOf({}, [...rest, ...busyAt.map(busy)]);
      assert.ok(stop >= without - 1e-6, `${stop} instead of ${without}`);
      assert.ok(
        stop <= Math.min(25_000, without + longestBusyWaitMs + longestWaitMs),
        `${stop}, without ${without}`,
      );
      const quiet = [termination, ...word];
      assert.deepEqual(outcomeOf({}, [...quiet, ...busyAt.map(busy)]), outcomeOf({}, quiet));
    }),
    { numRuns: 500 },
  );
});

test("no stop comes while processors are busy and pools in use, unless that was waited for long enough", () => {
  fc.assert(
    fc.property(uses, busyTimes, fc.integer({ min: 0, max: 3_000 }), (at, busyAt, floor) => {
      const { stop } = outcomeOf({ floor }, [termination, ...at.map(pool), ...busyAt.map(busy)]);
      const isWithin = (times: readonly number[], ms: number): boolean =>
        times.some((one) => one <= stop && one > stop - ms);
      const isBusy = isWithin(busyAt, busyLastsMs) && isWithin(at, inUseMs);
      assert.ok(!isBusy || stop >= floor + longestBusyWaitMs, `stopped at ${stop}`);
    }),
    { numRuns: 500 },
  );
});

test("`fixed` waits for no gap and no processor, and whoever forces the end waits for neither", () => {
  const used = Array.from({ length: 2_000 }, (_, index) => [pool(index * 5), busy(index * 5)]).flat();
  assert.equal(outcomeOf({ policy: "fixed", delay: 3_000 }, [termination, ...used]).stop, 3_000);
  assert.deepEqual(outcomeOf({}, [termination, ...used, { type: "force", at: 2_000 }]), {
    stop: 2_000,
    reason: "forced",
  });
});

test("the timeline says until when a hold waited for a gap, also where the cap ended the wait", () => {
  const timelineOf = (config: DrainOptions): string => {
    const drain = new Drain(parseConfig(config));
    const conditions = new Conditions(drain, 0);
    const used = Array.from({ length: 1_000 }, (_, index) => pool(index * 10));
    const observations = [termination, { type: "released", at: 2_000 } as const, ...used];
    const vector = { name: "", why: "", config, observations, expect: { stop: 0, reason: "cap" } } as const;
    const { stop } = runVector(vector, drain, (now, decision) => conditions.decided(now, decision));
    return timelineText(conditions.timeline(stop));
  };
  assert.equal(timelineOf({}), "floor 1.0, a gap on old connections until 4.0");
  assert.equal(timelineOf({ cap: 3_500 }), "floor 1.0, still waiting for a gap on old connections");
});

test("what is told late of a pool, but was earlier, changes nothing; who asks is told of the wait", () => {
  const drain = new Drain(parseConfig());
  for (const seen of [termination, pool(990), pool(500)]) drain.observe(seen);
  const decision = drain.decide(1_000);
  assert.ok(!decision.stop && decision.waitingFor === "gap");
  assert.ok(Math.abs(decision.until - 1_190) < 1e-6, `${decision.until}`);
  assert.deepEqual(drain.explain(1_000).unmet, ["gap"]);
});
