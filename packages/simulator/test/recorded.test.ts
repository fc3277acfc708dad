/** The same seed gives the same results in every release. The figures were recorded at commit 9db498f of 21 November 2026. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { drained } from "../src/policies/drained.ts";
import { run } from "../src/run.ts";
import { scenarioFrom } from "../src/scenario/parse.ts";
import { outcomesOf } from "./samples.ts";

const recorded = {
  nothing: { lost: 9_009, hold: 0 },
  fixed: { lost: 2_899, hold: 400_000 },
  quiet: { lost: 169, hold: 965_208.528 },
};

test("a scenario and a seed give the recorded losses and holds", () => {
  const { scenario } = scenarioFrom({
    replicas: 4,
    terminations: 200,
    rollout: { maxSurge: 0, maxUnavailable: 2, ready: "10s" },
    endpoints: { latency: 0, cacheLag: 0 },
    senders: [
      { name: "slow", count: 3, convergence: { exponential: "2s" } },
      { name: "lag", convergence: { uniform: ["1s", "4s"] } },
    ],
    traffic: { perPod: 20, service: 0, arrivals: "poisson" },
    pod: { reaction: 0, grace: "30s" },
  });
  const played = run(
    scenario,
    [
      drained("nothing", { policy: "fixed", delay: 0, floor: 0 }),
      drained("fixed", { policy: "fixed", delay: "2s", floor: 0 }),
      drained("quiet", { policy: "quiet", window: "1s", floor: 0 }),
    ],
    { seed: 8 },
  );
  const sums = Object.keys(recorded).map((name, contender) => {
    const outcomes = outcomesOf(played, contender);
    const sum = (of: "lost" | "hold"): number => outcomes.reduce((total, outcome) => total + outcome[of], 0);
    return [name, { lost: sum("lost"), hold: Number(sum("hold").toFixed(3)) }];
  });
  assert.deepEqual(Object.fromEntries(sums), recorded);
  assert.equal(played.arrivals, 249_083);
});
