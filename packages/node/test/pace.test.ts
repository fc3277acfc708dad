import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Pace } from "../src/protocols/pace.ts";

/** One call of a loop: time since the last one, and connections that came (positive) or went by themselves (negative) meanwhile. */
type Turn = readonly [number, number];

interface Run {
  readonly count: number;
  readonly spread: number;
  readonly gap: number;
  readonly phase: number;
  readonly turns: readonly Turn[];
}

/** When each connection was ended, milliseconds after the beginning; and how many were left. */
function run({ count, spread, gap, phase, turns }: Run): {
  ends: [at: number, ended: number][];
  left: number;
} {
  const from = 1_000;
  const pace = new Pace({ from, until: from + spread, gap }, () => phase);
  const ends: [number, number][] = [];
  let left = count;
  for (let now = from - 100, turn = 0; now <= from + spread + 200; turn++) {
    const [step, change] = turns[turn % turns.length]!;
    const due = pace.due(left, now);
    assert.ok(Number.isInteger(due) && due >= 0 && due <= left);
    if (due > 0) ends.push([now - from, due]);
    left = Math.max(0, left - due + change);
    now += step;
  }
  return { ends, left };
}

const counts = fc.oneof(fc.nat(5), fc.nat(3_000), fc.constantFrom(100_000, 1_000_000));
const spreads = fc.oneof(fc.integer({ min: 1, max: 500 }), fc.integer({ min: 500, max: 60_000 }));
const steady = fc.record({
  count: counts,
  spread: spreads,
  gap: fc.constantFrom(1, 1_000),
  phase: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  turns: fc.array(fc.tuple(fc.integer({ min: 1, max: 20 }), fc.constant(0)), { minLength: 1, maxLength: 30 }),
});

test("all connections are ended, none before the release, and the last at the end of the time", () => {
  fc.assert(
    fc.property(steady, (wanted) => {
      const { ends, left } = run(wanted);
      assert.equal(left, 0);
      assert.equal(
        ends.reduce((sum, [, ended]) => sum + ended, 0),
        wanted.count,
      );
      for (const [at] of ends) assert.ok(at >= 0 && at <= wanted.spread + 20, `${at} of ${wanted.spread}`);
    }),
    { numRuns: 200 },
  );
});

test("the rate is even: a part of the time ends that part of the connections", () => {
  fc.assert(
    fc.property(steady, (wanted) => {
      const { count, spread, gap } = wanted;
      const { ends } = run(wanted);
      const over = Math.max(1, Math.min(spread, count * gap));
      for (const share of [0.1, 0.25, 0.5, 0.9]) {
        const ended = ends.reduce((sum, [at, some]) => sum + (at <= share * over ? some : 0), 0);
        // Two connections, and what a turn of the loop lets wait.
        const slack = 2 + (count * 40) / over;
        assert.ok(Math.abs(ended - share * count) <= slack, `${ended} at ${share} of ${count}, ${over} ms`);
      }
    }),
    { numRuns: 200 },
  );
});

test("there is no burst where the loop stands still, and where connections come and go", () => {
  const unsteady = fc.array(
    fc.tuple(
      fc.oneof({ weight: 20, arbitrary: fc.integer({ min: 1, max: 20 }) }, fc.constantFrom(500, 2_000)),
      fc.oneof({ weight: 20, arbitrary: fc.constant(0) }, fc.integer({ min: -30, max: 30 })),
    ),
    { minLength: 10, maxLength: 60 },
  );
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 5_000 }), unsteady, (count, turns) => {
      const spread = 60_000;
      const { ends } = run({ count, spread, gap: 1_000, phase: 0.5, turns });
      for (const [at, ended] of ends) {
        // So late in the time everything must go, however long the loop stood still.
        if (at > spread - 5_000) continue;
        const most = 3 + ((count + 30 * turns.length * 40) * 100) / (spread - at);
        assert.ok(ended <= most, `${ended} at ${at}`);
      }
    }),
    { numRuns: 100 },
  );
});

test("few connections do not need the whole time", () => {
  const { ends } = run({ count: 3, spread: 60_000, gap: 1_000, phase: 0.9, turns: [[10, 0]] });
  assert.equal(ends.length, 3);
  assert.ok(ends.at(-1)![0] <= 3_000);
});
