import { test } from "node:test";
import { priorHypotheses, drainDefaults } from "@lameduck/drain";
import { simulateWorld } from "../../packages/simulator/src/model/world.ts";
import { assertMean } from "../../packages/simulator/test/samples.ts";
import { scenarioOfHypothesis } from "../grid/prior.ts";

test("the hypotheses of the prior are played as they are believed", () => {
  for (const hypothesis of priorHypotheses()) {
    const { delay, mean } = hypothesis;
    const world = simulateWorld(scenarioOfHypothesis(hypothesis, 3, 1, 150), 21);
    const times = world.convergence.flatMap((each) => [...each]);
    assertMean(times, (delay + mean) * drainDefaults.convergence, `delay ${delay}, mean ${mean}`);
  }
});
