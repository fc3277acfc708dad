import assert from "node:assert/strict";
import { test } from "node:test";
import { failuresSeen } from "./closed-loop.ts";
import { namedScenarios } from "../src/index.ts";
import type { NamedScenarioName } from "../src/scenario/named.ts";
import { run } from "../src/run.ts";
import { scenarioFrom } from "../src/scenario/parse.ts";
import { usualContenders } from "../src/simulate/contenders.ts";
import { outcomesOf } from "./samples.ts";

for (const name of Object.keys(namedScenarios) as NamedScenarioName[]) {
  const { scenario: file, policy, weff, summary, assumption } = namedScenarios[name];
  test(`the named scenario loses as published: ${summary}, if ${assumption}`, () => {
    const { scenario } = scenarioFrom(file);
    const contender = usualContenders(scenario, undefined, 1_000).find((one) => one.name === policy);
    assert.ok(contender);
    const outcomes = outcomesOf(run(scenario, [contender], { seed: 4 }));
    const rate = scenario.traffic.perPod + (scenario.traffic.pooled?.perPod ?? 0);
    const lost = outcomes.map(({ lost: each }) => each / rate);
    const mean = lost.reduce((sum, value) => sum + value, 0) / lost.length;
    const error = Math.sqrt(lost.reduce((sum, value) => sum + (value - mean) ** 2, 0)) / lost.length;
    assert.ok(Math.abs(mean - weff) <= 4 * error + 1e-9, `W_eff ${mean} +- ${error} s, published ${weff} s`);
  });
}

test("a closed loop of one worker sees one failure where an open loop sees a hundred", () => {
  const runs = 400;
  let open = 0;
  let closed = 0;
  for (let seed = 0; seed < runs; seed++) {
    const seen = failuresSeen(
      { pods: 10, rate: 500, lasts: 2_000, workers: 1, timeout: 5_000, answer: 5 },
      seed,
    );
    open += seen.open;
    closed += seen.closed;
  }
  assert.ok(Math.abs(open / runs - 100) < 4, `${open / runs}`);
  assert.equal(closed / runs, 1);
});
