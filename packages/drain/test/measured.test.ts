import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { priorHypotheses } from "../src/belief/hypotheses.ts";
import { measuredLesson, type MeasuredSender } from "../src/belief/measured.ts";
import { learn, type Learnt } from "../src/belief/learning.ts";
import { parseConfig } from "../src/config.ts";
import { Drain } from "../src/drain.ts";

const letGo = (...times: readonly number[]): MeasuredSender[] => times.map((at) => ({ at, hasLetGo: true }));

function taught(terminations: number, ...senders: readonly MeasuredSender[]): Learnt {
  let learnt: Learnt | undefined;
  for (let count = 0; count < terminations; count++) learnt = learn(learnt, measuredLesson(senders, 4_000));
  return learnt!;
}

/** Of a pod that one sender asks each 500 ms, until so long after the deletion. */
function holdOf(until: number, learnt?: Learnt): number {
  const drain = new Drain(parseConfig({ grace: 60_000, ...(learnt && { learnt }) }));
  for (let at = -60_000; at <= until; at += 500) {
    if (at === 0) drain.observe({ type: "termination", at });
    drain.observe({ type: "arrival", at, sender: "a", kind: "connection" });
  }
  for (let now = until; ;) {
    const decision = drain.decide(now);
    if (decision.stop) return now;
    now = decision.until;
  }
}

test("measured senders that are quick make holds shorter, and slow ones make them longer", () => {
  const unlearnt = holdOf(0);
  const quick = holdOf(0, taught(20, ...letGo(400, 500, 700)));
  assert.ok(quick < unlearnt * 0.9, `${quick}, not ${unlearnt}`);
  const slow = holdOf(0, taught(20, ...letGo(1_000, 1_200, 2_000, 5_000, 10_000)));
  assert.ok(slow > quick * 1.2, `${slow} and ${quick}`);
});

test("one that had not let go in the end makes an environment look slower, never quicker", () => {
  const behind = { at: 15_000, hasLetGo: false };
  assert.ok(holdOf(0, taught(20, ...letGo(400, 500), behind)) > holdOf(0, taught(20, ...letGo(400, 500))));
});

test("what was measured is only where the decision begins: who still sends is waited for", () => {
  const quick = taught(1_000, ...letGo(50, 60, 70));
  assert.ok(holdOf(12_000, quick) > 12_500);
});

test("a lesson is a belief, whatever was measured, also of thousands", () => {
  const senders = fc.array(fc.record({ at: fc.nat({ max: 10_000_000 }), hasLetGo: fc.boolean() }), {
    maxLength: 3_000,
  });
  fc.assert(
    fc.property(senders, (measured) => {
      const lesson = measuredLesson(measured, 4_000);
      assert.ok(lesson.every((weight) => weight >= 0 && weight <= 1));
      assert.ok(Math.abs(lesson.reduce((sum, weight) => sum + weight, 0) - 1) < 1e-9);
      assert.ok(learn(undefined, lesson).weights.every((weight) => weight > 0));
    }),
    { numRuns: 50 },
  );
});

test("of thousands the slowest, and how many were quicker, teach what all of them teach", () => {
  const all = Array.from({ length: 5_000 }, (_, at) => 200 - 800 * Math.log((at + 0.5) / 5_000));
  const slowest = letGo(...all.slice(0, 100));
  /** The mean time until a sender lets go. */
  const expected = (lesson: readonly number[]): number =>
    priorHypotheses().reduce(
      (sum, { delay, mean }, at) => sum + (lesson[at] ?? 0) * (delay + mean) * 4_000,
      0,
    );
  const [whole, told, alone] = [
    expected(measuredLesson(letGo(...all), 4_000)),
    expected(measuredLesson(slowest, 4_000, 4_900)),
    expected(measuredLesson(slowest, 4_000)),
  ];
  assert.ok(Math.abs(told - whole) < whole / 10, `${told} and ${whole}`);
  assert.ok(alone > 2 * whole, `without them it looks slow: ${alone}`);
});
