import assert from "node:assert/strict";
import { test } from "node:test";
import { runInParallel } from "../src/parallel/run.ts";
import { drained } from "../src/policies/drained.ts";
import { learning } from "../src/policies/learning.ts";
import { istio, oracle, wStar } from "../src/policies/competitors.ts";
import { run } from "../src/run.ts";
import { scenarioFrom } from "../src/scenario/parse.ts";

const { scenario } = scenarioFrom({
  name: "parallel",
  replicas: 7,
  terminations: 45,
  senders: [{ preset: "busy-iptables", count: 5 }],
  traffic: { total: 70 },
});

const contenders = () => [
  drained("adaptive", {}),
  learning("adaptive, learning", {}),
  drained("sleep", { policy: "fixed", delay: "2s" }),
  istio(),
  wStar(1_000, 0.01, 20_000),
  oracle(),
];

test("a run that several workers play is the same to the last digit", async () => {
  const alone = run(scenario, contenders(), { seed: 3 });
  for (const workersAfter of [0, 30]) {
    const options = { seed: 3, workersAfter, workers: 3 };
    const together = await runInParallel(scenario, contenders(), options);
    assert.deepEqual(together.outcomes, alone.outcomes);
    assert.equal(together.arrivals, alone.arrivals);
    assert.deepEqual(together.oracles, alone.oracles);
  }
});

test("the progress of several workers goes on to the end, and never back", async () => {
  const progress: number[] = [];
  const onProgress = (done: number): number => progress.push(done);
  await runInParallel(scenario, contenders(), { seed: 3, workersAfter: 10, workers: 2, onProgress });
  assert.deepEqual(
    progress,
    progress.toSorted((a, b) => a - b),
  );
  assert.equal(progress.at(-1), 45);
});

test("a run that is given up while workers play has what was played before, and leaves no worker", async () => {
  const controller = new AbortController();
  const before = process.getActiveResourcesInfo().length;
  const together = await runInParallel(scenario, contenders(), {
    seed: 3,
    workersAfter: 0,
    workers: 2,
    signal: controller.signal,
    onProgress: (done) => {
      if (done === 3) controller.abort();
    },
  });
  assert.deepEqual(
    together.outcomes.map(({ length }) => length),
    contenders().map(() => 1),
  );
  assert.equal(process.getActiveResourcesInfo().length, before);
});
