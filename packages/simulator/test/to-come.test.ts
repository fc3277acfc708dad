import assert from "node:assert/strict";
import { test } from "node:test";
import { gammaCumulative, logGamma } from "../src/kernel/gamma.ts";
import { Random } from "../src/kernel/random.ts";
import { GammaRenewal } from "../src/model/renewal.ts";
import type { TrafficShape } from "../src/model/traffic.ts";
import { drained } from "../src/policies/drained.ts";
import { run } from "../src/run.ts";
import { assertMean, equalSenders, exponential, outcomesOf } from "./samples.ts";

const close = (actual: number, expected: number, what: string): void =>
  assert.ok(Math.abs(actual - expected) <= 1e-8, `${what}: ${actual} instead of ${expected}`);

test("the gamma distribution is the exponential, the sum of two and the square of a normal where it should be", () => {
  close(logGamma(0.5), Math.log(Math.PI) / 2, "the root of pi");
  close(logGamma(7), Math.log(720), "6!");
  for (const x of [1e-9, 0.1, 1, 1.5, 3, 30]) {
    close(gammaCumulative(1, x), -Math.expm1(-x), `exponential at ${x}`);
    close(gammaCumulative(2, x), 1 - Math.exp(-x) * (1 + x), `two at ${x}`);
  }
  close(gammaCumulative(0.5, 0.5), 0.6826894921, "within one standard deviation");
  close(gammaCumulative(0.5, 2), 0.9544997361, "within two");
  assert.equal(gammaCumulative(3, 0), 0);
});

test("arrivals without memory come at their rate, whatever the silence before", () => {
  const poisson = new GammaRenewal(1);
  for (const age of [0, 0.2, 5, 40])
    for (const time of [1e-8, 0.01, 1, 7, 3_000])
      assert.ok(Math.abs(poisson.expected(age, time) / time - 1) < 0.001, `${age}, ${time}`);
});

test("arrivals in bursts are as many after a silence as by drawing them", () => {
  for (const cv of [0.5, 3, 5]) {
    const renewal = new GammaRenewal(cv);
    const shape = 1 / cv ** 2;
    const random = new Random("bursts", cv);
    const gap = (): number => random.gamma(shape) / shape;
    for (const [age, time] of [
      [0.001, 0.2],
      [0.5, 0.1],
      [1, 20],
      [2, 5],
    ] as const) {
      const counts: number[] = [];
      while (counts.length < 5_000) {
        const residual = gap() - age;
        if (residual <= 0) continue;
        let count = 0;
        for (let at = residual; at <= time; at += gap()) count++;
        counts.push(count);
      }
      assertMean(counts, renewal.expected(age, time), `cv ${cv}, ${age} ago, next ${time}`);
    }
  }
});

test("the arrivals that are expected after the stop come, on average, whatever the rule stopped for", () => {
  const shapes: TrafficShape["arrivals"][] = [
    { kind: "poisson" },
    { kind: "bursty", cv: 3 },
    { kind: "periodic", jitter: 0.1 },
  ];
  for (const arrivals of shapes)
    for (const [senders, rate] of [
      [1, 0.3],
      [5, 1],
    ] as const) {
      const scenario = equalSenders(senders, rate, exponential(4_000), { terminations: 3_000 });
      const traffic = { ...scenario.traffic, arrivals };
      const quiet = drained("quiet", { policy: "quiet", window: "2s", grace: "120s", reserve: 0, floor: 0 });
      const outcomes = outcomesOf(run({ ...scenario, traffic }, [quiet], { seed: 17 }));
      assert.ok(outcomes.some(({ lost }) => lost > 0));
      const differences = outcomes.map(({ lost, expectedLost }) => lost - expectedLost);
      assertMean(differences, 0, `${arrivals.kind}, ${senders} senders`);
    }
});

test("a beat slower than the time that was watched is seen in its share of the cases", () => {
  const scenario = equalSenders(1, 1 / 400, exponential(1), { terminations: 2_000 });
  const traffic = { ...scenario.traffic, arrivals: { kind: "periodic", jitter: 0.1 } as const };
  const { arrivals } = run({ ...scenario, traffic }, [], { seed: 18 });
  assert.ok(Math.abs(arrivals / 2_000 - 120 / 400) < 0.05, `${arrivals} in 2000 times 120 s of 400`);
});
