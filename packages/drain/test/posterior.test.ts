import assert from "node:assert/strict";
import { test } from "node:test";
import { Drain, DrainError, learn, type Learnt, parseConfig } from "../src/index.ts";
import { Posterior, type ArrivalProcess } from "../src/belief/posterior.ts";
import { hypothesisCount, defaultPrior } from "../src/belief/hypotheses.ts";

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

function steady(rate: number, last: number): ArrivalProcess {
  return { rate, last, rateAfter: () => rate, hazard: (silence) => rate * silence };
}

function sendersOf(count: number, options: object = {}): Drain {
  const drain = new Drain(parseConfig({ floor: 0, grace: "600s", reserve: 0, ...options }));
  drain.observe({ type: "watching", at: -60_000 });
  for (let round = 0; round < 6; round++)
    for (let index = 0; index < count; index++)
      drain.observe({
        type: "arrival",
        at: -60_000 + round * 10_000 + index * (10_000 / count),
        sender: `s${index}`,
        kind: "connection",
      });
  drain.observe({ type: "termination", at: 0 });
  return drain;
}

function holdOf(drain: Drain): number {
  let now = 0;
  for (;;) {
    const decision = drain.decide(now);
    if (decision.stop) return now;
    now = decision.until;
  }
}

test("the posterior before any observation is the prior", () => {
  const { priorUpdate: weights } = new Posterior(4_000, defaultPrior(), 0).summary();
  assert.equal(weights.length, hypothesisCount);
  assert.ok(Math.abs(sum(weights) - 1) < 1e-12);
  for (const [index, weight] of defaultPrior().entries())
    assert.ok(Math.abs(weight - (weights[index] ?? 0)) < 1e-12);
});

test("hundreds of small senders that fall silent together are believed to have left sooner than one of them alone", () => {
  const alone = holdOf(sendersOf(1));
  const together = holdOf(sendersOf(300));
  assert.ok(together < alone / 3, `${together} ms together, ${alone} ms alone`);
});

test("a delay that all senders share is recognised: loss is expected while they all go on, and not long after", () => {
  const prior = defaultPrior();
  const lossAt = (now: number, until: number): number => {
    const environments = new Posterior(4_000, prior, now);
    for (let sender = 0; sender < 50; sender++)
      environments.update(steady(0.002, Math.min(now, until - sender * 10)));
    return environments.summary().expectedLoss;
  };
  assert.ok(lossAt(8_000, 8_000) > 50);
  assert.ok(lossAt(13_000, 8_000) < 0.1, `${lossAt(13_000, 8_000)}`);
});

test("the expected loss is a number, whatever the times and rates are", () => {
  for (const convergence of [1e-3, 1, 4_000, 1e9])
    for (const now of [0, 1e-6, 1, 1e5, 1e12])
      for (const rate of [0, 1e-12, 1, 1e4])
        for (const last of [0, now / 3, now]) {
          const environments = new Posterior(convergence, defaultPrior(), now);
          for (let sender = 0; sender < 5; sender++) environments.update(steady(rate, last));
          const { expectedLoss, weights } = environments.summary();
          assert.ok(expectedLoss >= 0 && Number.isFinite(expectedLoss), `${expectedLoss}`);
          assert.ok(Math.abs(sum(weights) - 1) < 1e-9);
        }
});

// Of several senders one's arrival also tells how the others let go, and now and then that they have.
test("the loss expected of a lone sender of a known rate does not grow because its last arrival was earlier", () => {
  for (const rate of [0.0001, 0.001, 0.02])
    for (const now of [500, 3_000, 20_000]) {
      const losses = [0, 0.2, 0.5, 0.8, 1].map((share) => {
        const posterior = new Posterior(4_000, defaultPrior(), now);
        posterior.update(steady(rate, share * now));
        return posterior.summary().expectedLoss;
      });
      assert.deepEqual(
        losses,
        losses.toSorted((a, b) => a - b),
      );
    }
});

test("an address shared by senders that let go one by one is held for the last of them", () => {
  // 100/s from behind one address, half as much after each second. Judged by its old rate it would be given up in the first long gap.
  const drain = new Drain(parseConfig({ floor: 0, grace: "600s", reserve: 0 }));
  const arrive = (at: number): void =>
    drain.observe({ type: "arrival", at, sender: "nat", kind: "connection" });
  for (let at = -60_000; at <= 0; at += 10) arrive(at);
  drain.observe({ type: "termination", at: 0 });
  for (let at = 10; at <= 6_000; at += 10 * 2 ** Math.floor(at / 1_000)) {
    assert.equal(drain.decide(at).stop, false, `stopped at ${at}`);
    arrive(at);
  }
  assert.equal(drain.decide(30_000).stop, true);
});

test("what is learnt from quick terminations makes the next ones quicker, and is small plain JSON", () => {
  let learnt: Learnt | undefined;
  const first = holdOf(sendersOf(3));
  for (let termination = 0; termination < 20; termination++) {
    const drain = sendersOf(3, learnt ? { learnt } : {});
    // Busy senders show it: 20/s each, silent from 0.3 s on.
    for (let at = 0; at < 300; at += 15)
      drain.observe({ type: "arrival", at, sender: `s${(at / 15) % 3}`, kind: "connection" });
    const priorUpdate = drain.priorUpdate(holdOf(drain));
    assert.ok(priorUpdate);
    learnt = JSON.parse(JSON.stringify(learn(learnt, priorUpdate))) as Learnt;
  }
  assert.equal(learnt?.terminations, 20);
  assert.ok(JSON.stringify(learnt).length < 2_000);
  assert.ok(Math.abs(sum(learnt?.weights ?? []) - 1) < 1e-9);
  const later = holdOf(sendersOf(3, { learnt }));
  assert.ok(later < first * 0.8, `${later} ms after 20 terminations, ${first} ms before`);
  assert.ok(
    (learnt?.weights ?? []).every((weight) => weight > 0),
    "nothing is ever ruled out",
  );
});

test("a termination without traffic teaches nothing about its environment", () => {
  const drain = new Drain(parseConfig());
  drain.observe({ type: "termination", at: 0 });
  assert.equal(drain.priorUpdate(3_000), undefined);
});

const full = defaultPrior();
const { version } = learn(undefined, full);
const unusable: [title: string, learnt: unknown][] = [
  ["no priorUpdate", {}],
  ["one without a version", { terminations: 1, weights: full }],
  ["one of another version", { version: version + 1, terminations: 1, weights: full }],
  ["one whose count is none", { version, terminations: NaN, weights: full }],
  ["too few weights", { version, terminations: 1, weights: [1] }],
  ["weights of 0", { version, terminations: 1, weights: full.map(() => 0) }],
  ["a negative weight", { version, terminations: 1, weights: full.with(3, -1) }],
  ["a weight that is no number", { version, terminations: 1, weights: full.with(3, NaN) }],
];

for (const [title, learnt] of unusable)
  test(`learnt data with ${title} is refused with its place, and learning begins anew`, () => {
    assert.throws(
      () => parseConfig({ learnt: learnt as Learnt }),
      (error) =>
        error instanceof DrainError && error.code === "LAMEDUCK_BAD_NUMBER" && error.place === "learnt",
    );
    assert.deepEqual(learn(learnt as Learnt, full), learn(undefined, full));
  });

test("null, which a store returns at first, is read as nothing learnt", () => {
  assert.deepEqual(parseConfig({ learnt: null }), parseConfig());
  assert.deepEqual(learn(null, full), learn(undefined, full));
});
