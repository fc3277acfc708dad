import assert from "node:assert/strict";
import { test } from "node:test";
import { senderRates, type Scenario } from "../src/model/scenario.ts";
import { simulateWorld } from "../src/model/world.ts";
import { FixedDelays, shortestDelay } from "../src/fixed-delay.ts";
import { traceOf } from "../src/run.ts";
import { equalSenders, exponential } from "./samples.ts";

const scenario = equalSenders(3, 30, exponential(2_000), {
  senders: [
    { name: "few", count: 3, forwarder: exponential(2_000), share: 1 },
    { name: "many", count: 20, forwarder: exponential(500), share: 3 },
  ],
  terminations: 50,
});
const world = simulateWorld(scenario, 5);
const delays = new FixedDelays(scenario, world, 5);

test("a fixed delay loses what its senders send after it", () => {
  const rates = senderRates(scenario);
  for (const delay of [0, 1, 700, 4_000, 60_000]) {
    let lost = 0;
    for (const times of world.convergence)
      for (const [sender, time] of times.entries())
        lost += ((rates[sender] ?? 0) * Math.max(0, time - delay)) / 50;
    assert.ok(Math.abs(delays.lostAfter(delay) - lost) < 1e-9 * (1 + lost), `${delay} ms`);
  }
});

test("a fixed delay is played with loads that follow the rollout and with young pods, as a policy is", () => {
  const young = { ...scenario.pod, age: { uniform: [500, 4_000] as const } };
  const rolled: Scenario = {
    ...scenario,
    replicas: 10,
    rollout: { kind: "deployment", maxSurge: 0, maxUnavailable: 5, ready: 3_000, listedBefore: 0 },
    traffic: { ...scenario.traffic, spread: "known" },
    pod: young,
  };
  const rolledWorld = simulateWorld(rolled, 5);
  const exact = new FixedDelays(rolled, rolledWorld, 5);
  const usual = new FixedDelays({ ...scenario, replicas: 10, rollout: rolled.rollout }, rolledWorld, 5);
  for (const delay of [0, 300, 2_000]) {
    let lost = 0;
    for (let termination = 0; termination < rolled.terminations; termination++)
      lost += traceOf(rolled, rolledWorld, 5, termination).expectedAfter(delay) / rolled.terminations;
    assert.ok(Math.abs(exact.lostAfter(delay) - lost) < 1e-9 * (1 + lost), `${delay} ms`);
    assert.ok(Math.abs(usual.lostAfter(delay) - lost) > 0.05 * lost, "neither is without effect");
  }
});

test("the shortest delay for a given loss loses that much and no more", () => {
  const lostAfter = (delay: number): number => delays.lostAfter(delay);
  const { lost, hold } = shortestDelay(lostAfter, 0.5, 120_000);
  assert.ok(Math.abs(lost - 0.5) < 1e-6 && lostAfter(hold - 1) > 0.5);
  assert.deepEqual(shortestDelay(lostAfter, 1e9, 120_000), { lost: lostAfter(0), hold: 0 });
});
