import { test } from "node:test";
import fc from "fast-check";
import assert from "node:assert/strict";
import { Posterior } from "../src/belief/posterior.ts";
import { LearntHabit } from "../src/belief/evidence.ts";
import { hypothesisCount, means } from "../src/belief/hypotheses.ts";
import { random } from "./random.ts";

const seconds = 1_000;

/** What a sender is expected to send still, where it is known that each lets go after an exponential time of mean `tau`. */
function expectedLoss(rate: number, silence: number, tau: number): number {
  const noDelayMeanOne = means.indexOf(1);
  const prior = Array.from({ length: hypothesisCount }, (_, index) => Number(index === noDelayMeanOne));
  const environments = new Posterior(tau, prior, silence);
  environments.update({ rate, last: 0, rateAfter: () => rate, hazard: (x) => rate * x });
  return environments.summary().expectedLoss;
}

/** One sender at `rate` per second with exponential convergence of mean `tau`; stopped after a silence of `window`. */
function simulateQuietWindow(
  rate: number,
  tau: number,
  window: number,
  runs: number,
): { lost: number; alive: number } {
  const next = random(7);
  const exponential = (mean: number): number => -Math.log(1 - next()) * mean;
  let lost = 0;
  let alive = 0;
  for (let run = 0; run < runs; run++) {
    const converged = exponential(tau);
    let last = 0;
    for (;;) {
      const arrival = last + exponential(1 / rate);
      if (arrival > converged || arrival - last > window) break;
      last = arrival;
    }
    const stopped = last + window;
    if (stopped < converged) {
      alive++;
      lost += rate * (converged - stopped);
    }
  }
  return { lost: lost / runs, alive: alive / runs };
}

test("the chance that a sender still sends is that of the closed form, where there is one hypothesis", () => {
  // Research value: lambda 10/s, tau 1.5 s, x = 0.3 s is one of many; the form itself is the target.
  fc.assert(
    fc.property(
      fc.double({ min: 0.001, max: 5, noNaN: true }),
      fc.double({ min: 0.1, max: 60, noNaN: true }),
      fc.double({ min: 0, max: 20, noNaN: true }),
      (rate, tau, silence) => {
        const u = 1 / tau;
        const form = 1 / (1 + (u / (rate + u)) * (Math.exp((rate + u) * silence) - 1));
        const ours = expectedLoss(rate, silence, tau) / (rate * tau);
        assert.ok(Math.abs(ours - form) <= 1e-9 * Math.max(1, form), `${ours} instead of ${form}`);
      },
    ),
  );
});

test("the loss expected after a quiet window is the one that the exact formula gives", () => {
  const [rate, tau, window] = [2, 1.5, 1];
  const mu = 1 / tau;
  const q = Math.exp(-(rate + mu) * window);
  const exact = ((rate / mu) * q) / (q + (mu / (rate + mu)) * (1 - q));
  const simulated = simulateQuietWindow(rate, tau, window, 200_000);
  assert.ok(
    Math.abs(simulated.lost - exact) < 0.03 * exact,
    `${simulated.lost} simulated, ${exact} by formula`,
  );
  // The rule stops at the crossing, so the expected loss it computes at that instant is the mean loss.
  const computed = expectedLoss(rate / seconds, window * seconds, tau * seconds);
  assert.ok(Math.abs(computed - exact) < 1e-6);
});

test("a rate learnt from few arrivals needs the longer silences of the predictive tail", () => {
  // Mean gaps of silence until a sender still sending would be silent with 1 %: research section 3.2.
  for (const [arrivals, gaps] of [
    [3, 10.9],
    [5, 7.6],
    [10, 5.9],
    [20, 5.2],
    [100, 4.7],
  ] as const) {
    const second = 1_000;
    const hazard = new LearntHabit(arrivals, arrivals * second, 0).hazard(gaps * second);
    assert.ok(Math.abs(hazard - Math.log(100)) < 0.05, `${arrivals} arrivals: ${hazard}`);
  }
});

test("the chance that a silence is a pause is the chance that one of the gaps was one", () => {
  const gaps = 600;
  const paused = { share: 1 / (gaps + 1), longest: 45_000 };
  const with45 = new LearntHabit(gaps, 60_000, 700, paused);
  assert.ok(Math.abs(with45.hazard(5_000) - Math.log(gaps)) < 0.3, `${with45.hazard(5_000)}`);
  // A silence that is nothing strange is not made stranger, and one that is longer than any pause is.
  const without = new LearntHabit(gaps, 60_000, 700);
  assert.ok(Math.abs(with45.hazard(200) - without.hazard(200)) < 0.02);
  assert.ok(with45.hazard(400_000) > Math.log(gaps) + 5);
});

test("a finite input never gives NaN, and no chance is above 1", () => {
  const any = fc.double({ min: 0, max: 1e300, noNaN: true, noDefaultInfinity: true });
  fc.assert(
    fc.property(any, any, any, any, (gaps, exposure, longest, silence) => {
      const habit = new LearntHabit(gaps, exposure, longest);
      assert.ok(habit.hazard(silence) >= 0, `${habit.hazard(silence)}`);
      assert.ok(habit.rateAfter(silence) >= 0);
    }),
  );
});
