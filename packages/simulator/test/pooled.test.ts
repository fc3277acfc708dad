import assert from "node:assert/strict";
import { test } from "node:test";
import type { Observation } from "@lameduck/drain";
import type { Scenario } from "../src/model/scenario.ts";
import { bare, drained } from "../src/policies/drained.ts";
import type { Contender } from "../src/policies/stopper.ts";
import { run } from "../src/run.ts";
import { assertMean, equalSenders, meanOfAll, outcomesOf, recorded } from "./samples.ts";

/** Plays one termination and keeps what the policy was told. */
function told(scenario: Scenario, contender: Contender): readonly Observation[] {
  const { contender: listening, seen } = recorded(contender);
  run({ ...scenario, terminations: 1 }, [listening], { seed: 4 });
  return seen;
}

const pools = equalSenders(4, 10, { kind: "delay", delay: 3_000 });
const pooledScenario: Scenario = {
  ...pools,
  traffic: {
    ...pools.traffic,
    service: { lognormal: [20, 100] },
    pooled: { connections: 50, perPod: 100, oneWay: 0.5 },
  },
  pod: { ...pools.pod, grace: 30_000, prestop: 5_000, reserve: 5_000, reaction: 100 },
};

test("pooled clients are asked to leave a floor after SIGTERM, not after the deletion, and each at its turn", () => {
  const pod = { grace: "30s", prestop: "5s", floor: "8s" } as const;
  for (const options of [
    { ...pod, policy: "adaptive" },
    { ...pod, policy: "quiet" },
    { ...pod, policy: "fixed", delay: "12s" },
    { ...pod, policy: "until-deadline" },
  ] as const) {
    const asked = told(pooledScenario, drained(options.policy, options)).filter(
      ({ type }) => type === "asked",
    );
    const first = asked[0]?.at ?? 0;
    // 5 s of preStop and 0.1 s until the kubelet begins, then what the preStop hook has left of the floor.
    assert.ok(first >= 8_100 && first < 8_400, `${options.policy}: ${first}`);
    assert.ok(asked.filter(({ at }) => at < 8_600).length < 0.75 * asked.length, "spread over the ramp");
  }
  const slept = bare("sleep", { grace: "30s", prestop: "5s", policy: "fixed", delay: "12s" });
  assert.ok(!told(pooledScenario, slept).some(({ type }) => type === "asked"), "a sleep asks nobody");
});

test("all policies see the same requests, also on kept connections and in their durations", () => {
  const requests = (contender: Contender): string[] =>
    told(pooledScenario, contender)
      .filter(({ type, at }) => (type === "arrival" || type === "in-flight") && at > 0 && at < 8_000)
      .map((observation) => JSON.stringify(observation));
  const pod = { grace: "30s", prestop: "5s" } as const;
  const early = requests(drained("early", { ...pod, floor: "5.5s" }));
  const late = requests(drained("late", { ...pod, policy: "until-deadline", floor: "9s" }));
  const closed = late.filter((request) => !early.includes(request));
  // Until the first connections of one go, all is the same; after that one sees what the other one does, but for those.
  assert.ok(
    early.length > 500 && early.every((request) => late.includes(request)),
    "nothing but what both see",
  );
  assert.ok(closed.length > 20, "and less of it once clients have left");
});

test("idle connections closed without a hint lose what is on its way, and hints empty them first", () => {
  const plain = equalSenders(4, 0, { kind: "delay", delay: 100 }, { terminations: 400 });
  const scenario = {
    ...plain,
    traffic: { ...plain.traffic, pooled: { connections: 5, perPod: 400, oneWay: 2 } },
  };
  const played = run(
    scenario,
    [drained("nothing", { policy: "fixed", delay: 0, floor: 0 }), drained("adaptive", { floor: "1s" })],
    { seed: 2 },
  );
  // Closed form: requests per second on pooled connections x one-way delay.
  assertMean(
    outcomesOf(played).map(({ losses }) => losses.keepAlive),
    0.4 * 2,
    "keep-alive race",
  );
  assert.ok(meanOfAll(outcomesOf(played, 1).map(({ losses }) => losses.keepAlive)) < 0.08);
});
