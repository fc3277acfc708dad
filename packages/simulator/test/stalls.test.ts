import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Random } from "../src/kernel/random.ts";
import { Stalls } from "../src/model/stalls.ts";
import { drained } from "../src/policies/drained.ts";
import { run } from "../src/run.ts";
import { scenarioFrom } from "../src/scenario/parse.ts";
import { equalSenders, exponential, meanOfAll, outcomesOf } from "./samples.ts";

test("an arrival during a stall is seen at its end, whatever was asked before", () => {
  fc.assert(
    fc.property(
      fc.integer(),
      fc.double({ min: 0.01, max: 0.8, noNaN: true }),
      fc.array(fc.double({ min: -5_000, max: 60_000, noNaN: true }), { minLength: 1, maxLength: 30 }),
      (seed, share, times) => {
        const stalls = (): Stalls =>
          new Stalls({ share, length: { exponential: 200 } }, -5_000, new Random("stalls", seed));
        const asked = stalls();
        for (const at of times) {
          const seen = asked.seen(at);
          assert.ok(seen >= at);
          assert.equal(asked.seen(seen), seen, "a stall's end is no part of it");
          assert.equal(stalls().seen(at), seen, "the same, asked first");
        }
      },
    ),
  );
});

test("the stalls take their share of the time", () => {
  const stalls = new Stalls({ share: 0.3, length: { exponential: 100 } }, 0, new Random("share"));
  const waiting = Array.from({ length: 200_000 }, (_, index) => Number(stalls.seen(index * 10) > index * 10));
  assert.ok(Math.abs(meanOfAll(waiting) - 0.3) < 0.02, String(meanOfAll(waiting)));
});

test("a pod without a processor holds longer, because silence that it could not hear counts for nothing", () => {
  const plain = equalSenders(3, 30, exponential(1_000), { terminations: 200 });
  const starved = {
    ...plain,
    pod: { ...plain.pod, stalls: { share: 0.5, length: { exponential: 300 } } },
  };
  const holdIn = (scenario: typeof plain): number => {
    const outcomes = outcomesOf(run(scenario, [drained("adaptive", {})], { seed: 4 }));
    return meanOfAll(outcomes.map(({ hold }) => hold));
  };
  assert.ok(holdIn(starved) > holdIn(plain) * 1.2, `${holdIn(starved)} and ${holdIn(plain)}`);
});

test("a sender that has not yet added a young pod when it is deleted never sends to it", () => {
  const { scenario } = scenarioFrom({
    replicas: 2,
    terminations: 300,
    rollout: { kind: "isolated" },
    senders: [{ name: "slow", kubeProxy: { minSyncPeriod: "10s", busy: true } }],
    traffic: { perPod: 20, service: 0 },
    pod: { age: "1s", reaction: 0 },
  });
  const played = run(scenario, [drained("nothing", { policy: "fixed", delay: 0, floor: 0 })], { seed: 3 });
  const known = [...played.oracles].filter((oracle) => oracle > 0).length / 300;
  assert.ok(known > 0.03 && known < 0.2, `about one in ten has: ${known}`);
  for (const [index, { lost }] of outcomesOf(played).entries())
    if (played.oracles[index] === 0) assert.equal(lost, 0);
});
