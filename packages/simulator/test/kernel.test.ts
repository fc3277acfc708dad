import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { EventQueue } from "../src/kernel/event-queue.ts";
import { Random } from "../src/kernel/random.ts";
import { firstAbove, Guide } from "../src/kernel/search.ts";
import { Simulation } from "../src/kernel/simulation.ts";
import { draw, meanOf, type Distribution } from "@lameduck/load/propagation";
import { assertMean } from "./samples.ts";

test("events come in order of time, and events of one time in the order of scheduling", () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 20 }), { maxLength: 3_000 }), (times) => {
      const queue = new EventQueue();
      const seen: { time: number; index: number }[] = [];
      times.forEach((time, index) => queue.push(time, () => seen.push({ time, index }), 0));
      while (queue.size > 0) queue.runNext();
      const expected = times
        .map((time, index) => ({ time, index }))
        .sort((a, b) => a.time - b.time || a.index - b.index);
      assert.deepEqual(seen, expected);
    }),
  );
});

test("events scheduled by events keep the order too, and the clock never runs backwards", () => {
  const simulation = new Simulation();
  const random = new Random("order");
  let last = 0;
  let left = 20_000;
  const again = (): void => {
    assert.ok(simulation.now >= last);
    last = simulation.now;
    if (left-- > 0) simulation.after(random.below(5) - 1, again);
    if (left % 7 === 0) simulation.after(random.exponential(3), again);
  };
  simulation.at(0, again);
  simulation.run(5_000);
  assert.ok(left < 19_000);
});

test("events may ask what is next, before they schedule another or instead of it", () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 9 }), { minLength: 1, maxLength: 200 }), (times) => {
      const queue = new EventQueue();
      const pending = [...times];
      const happen = (time: number): void => {
        assert.equal(time, Math.min(...pending));
        pending.splice(pending.indexOf(time), 1);
        if (time % 4 < 2) assert.equal(queue.nextTime, Math.min(...pending));
        if (time % 2 === 0) {
          queue.push(time + 3, happen, time + 3);
          pending.push(time + 3);
        }
        assert.equal(queue.size, pending.length);
      };
      for (const time of times) queue.push(time, happen, time);
      while (queue.size > 0) queue.runNext();
      assert.deepEqual(pending, []);
    }),
  );
});

test("a search with a guide finds what a search without one finds", () => {
  const steps = fc.array(fc.oneof(fc.constant(0), fc.double({ min: 1e-6, max: 1e3, noNaN: true })), {
    minLength: 1,
    maxLength: 60,
  });
  fc.assert(
    fc.property(steps, fc.double({ min: 0, max: 0.999_999, noNaN: true }), (rises, share) => {
      let sum = 0;
      const values = Float64Array.from(rises, (rise) => (sum += rise));
      fc.pre(sum > 0);
      const guide = new Guide(values);
      for (const value of [share * sum, ...values].filter((each) => each < sum))
        assert.equal(guide.firstAbove(value), firstAbove(values, value));
    }),
  );
});

test("the same key gives the same random numbers, and another key gives others", () => {
  const numbers = (...key: (string | number)[]): number[] => {
    const random = new Random(...key);
    return Array.from({ length: 50 }, () => random.uniform());
  };
  assert.deepEqual(numbers(1, "a", 2), numbers(1, "a", 2));
  assert.notDeepEqual(numbers(1, "a", 2), numbers(1, "a", 3));
  assert.notDeepEqual(numbers(1, "a", 2), numbers(2, "a", 2));
});

test("every distribution has the mean it claims", () => {
  const distributions: Distribution[] = [
    5,
    { uniform: [2, 9] },
    { exponential: 40 },
    { lognormal: [800, 1_500] },
    {
      quantiles: [
        [0.5, 10],
        [0.9, 50],
        [1, 100],
      ],
    },
    {
      mixture: [
        [1, 10],
        [3, { exponential: 5 }],
      ],
    },
    { sum: [3, { uniform: [0, 4] }] },
  ];
  for (const distribution of distributions) {
    const random = new Random("mean", JSON.stringify(distribution));
    const values = Array.from({ length: 40_000 }, () => draw(distribution, random));
    assertMean(values, meanOf(distribution), JSON.stringify(distribution));
  }
});

test("random gaps of a gamma distribution have the coefficient of variation asked for", () => {
  const random = new Random("gamma");
  const shape = 1 / 9;
  const values = Array.from({ length: 100_000 }, () => random.gamma(shape) / shape);
  assertMean(values, 1, "mean");
  assertMean(
    values.map((value) => (value - 1) ** 2),
    9,
    "variance",
  );
});
