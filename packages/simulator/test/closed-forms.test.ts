import assert from "node:assert/strict";
import { test } from "node:test";
import { Random } from "../src/kernel/random.ts";
import { drained } from "../src/policies/drained.ts";
import { wStar } from "../src/policies/competitors.ts";
import { run } from "../src/run.ts";
import { assertMean, equalSenders, exponential, meanOfAll, outcomesOf } from "./samples.ts";

const unbounded = { grace: "120s", reserve: 0, floor: 0 } as const;
const tau = 1_500;

test("a fixed delay s loses rate x tau x e^(-s/tau) per termination", () => {
  for (const [count, rate, delay] of [
    [1, 10, 1_000],
    [10, 100, 3_000],
    [50, 1_000, 5_000],
  ] as const) {
    const scenario = equalSenders(count, rate, exponential(tau));
    const played = run(scenario, [drained("fixed", { policy: "fixed", delay, ...unbounded })], { seed: 11 });
    const expected = (rate / 1_000) * tau * Math.exp(-delay / tau);
    assertMean(
      outcomesOf(played).map(({ lost }) => lost),
      expected,
      `sleep ${delay}, ${count} senders`,
    );
    assertMean(
      outcomesOf(played).map(({ expectedLost }) => expectedLost),
      expected,
      "the same, less noisy",
    );
  }
});

test("one sender and a quiet window lose (rate/mu) q / (q + mu/(rate+mu) (1-q)), q = e^(-(rate+mu) w)", () => {
  const mu = 1 / tau;
  for (const [perSecond, window] of [
    [10, 200],
    [10, 460],
    [3, 1_000],
  ] as const) {
    const rate = perSecond / 1_000;
    const q = Math.exp(-(rate + mu) * window);
    const expected = (rate / mu) * (q / (q + (mu / (rate + mu)) * (1 - q)));
    const scenario = equalSenders(1, perSecond, exponential(tau), { terminations: 4_000 });
    const played = run(scenario, [drained("quiet", { policy: "quiet", window, ...unbounded })], { seed: 12 });
    assertMean(
      outcomesOf(played).map(({ expectedLost }) => expectedLost),
      expected,
      `window ${window}`,
    );
  }
});

test("k senders and one window on their sum lose at most k times the loss of one", () => {
  const mu = 1 / tau;
  const rate = 10 / 1_000;
  for (const count of [5, 20]) {
    const window = 150;
    const q = Math.exp(-(rate + mu) * window);
    const bound = count * (rate / mu) * (q / (q + (mu / (rate + mu)) * (1 - q)));
    const scenario = equalSenders(count, 10 * count, exponential(tau));
    const played = run(scenario, [drained("quiet", { policy: "quiet", window, ...unbounded })], { seed: 13 });
    const lost = meanOfAll(outcomesOf(played).map(({ expectedLost }) => expectedLost));
    assert.ok(lost > 0 && lost <= bound, `${lost} of at most ${bound}`);
  }
});

test("a sender that never converges is given up after (e^(rate w) - 1)/rate on average", () => {
  const rate = 10 / 1_000;
  const window = 300;
  // Arrivals end with the convergence: it must outlast every hold.
  const scenario = equalSenders(1, 10, { kind: "delay", delay: 60_000 }, { terminations: 1_500 });
  const played = run(scenario, [drained("quiet", { policy: "quiet", window, ...unbounded })], { seed: 14 });
  // The first window begins with the deletion: the mean time to a silence of w from a fresh start.
  assertMean(
    outcomesOf(played).map(({ hold }) => hold),
    (Math.exp(rate * window) - 1) / rate,
    "false stop",
  );
});

test("the chance P(alive) is the share of senders still sending among those silent so long", () => {
  const rate = 2 / 1_000;
  const silence = 600;
  const random = new Random("alive");
  let silent = 0;
  let alive = 0;
  for (let round = 0; round < 200_000; round++) {
    const converged = random.exponential(tau);
    const next = random.exponential(1 / rate);
    if (next < Math.min(converged, silence)) continue;
    silent++;
    if (converged > silence) alive++;
  }
  const share = alive / silent;
  const sends = Math.exp(-(rate + 1 / tau) * silence);
  const expected = sends / (sends + (1 - sends) / (1 + rate * tau));
  const error = Math.sqrt((share * (1 - share)) / silent);
  assert.ok(Math.abs(share - expected) < 4 * error, `${share} +- ${error}, formula ${expected}`);
});

test("the window w* keeps its promise: the loss stays below the budget and the hold near tau H_k + w*", () => {
  const scenario = equalSenders(10, 100, exponential(tau));
  const played = run(scenario, [wStar(tau, 0.1, 120_000)], { seed: 15 });
  const lost = meanOfAll(outcomesOf(played).map(({ expectedLost }) => expectedLost));
  assert.ok(lost <= 0.1, `${lost}`);
  const harmonic = Array.from({ length: 10 }, (_, index) => 1 / (index + 1)).reduce(
    (sum, part) => sum + part,
    0,
  );
  const window = (10 / 0.1) * (2 * Math.log((0.1 * tau) / 10) + Math.log(10 / 0.1));
  assertMean([...played.oracles], tau * harmonic, "the last of ten senders");
  const hold = meanOfAll(outcomesOf(played).map(({ hold: held }) => held));
  assert.ok(Math.abs(hold - (tau * harmonic + window)) < 0.2 * hold, `${hold}`);
});

test("the naive window ln(100)/rate of the whole pod loses most of the stale traffic of many senders", () => {
  const scenario = equalSenders(50, 1_000, exponential(tau), { terminations: 100 });
  const window = (Math.log(100) / 1_000) * 1_000;
  const played = run(scenario, [drained("naive", { policy: "quiet", window, ...unbounded })], { seed: 16 });
  const lost = meanOfAll(outcomesOf(played).map(({ lost: each }) => each));
  assert.ok(lost > 0.9 * 1_500, `${lost} of 1500`);
});
