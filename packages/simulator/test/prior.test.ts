import { test } from "node:test";
import { priorHypotheses, drainDefaults } from "@lameduck/drain";
import { scenarioOfHypothesis } from "../scripts/grid/prior.ts";
import { simulateWorld } from "../src/model/world.ts";
import { assertMean } from "./samples.ts";

test("hypotheses are played as they are believed", () => {
  for (const hypothesis of priorHypotheses()) {
    const { delay, mean } = hypothesis;
    const world = simulateWorld(scenarioOfHypothesis(hypothesis, 3, 1, 150), 21);
    const times = world.convergence.flatMap((each) => [...each]);
    assertMean(times, (delay + mean) * drainDefaults.convergence, `delay ${delay}, mean ${mean}`);
  }
});
