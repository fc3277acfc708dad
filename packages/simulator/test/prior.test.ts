import { test } from "node:test";
import { believedPictures, drainDefaults } from "@lameduck/drain";
import { scenarioOfPicture } from "../scripts/grid/prior.ts";
import { simulateWorld } from "../src/model/world.ts";
import { assertMean } from "./samples.ts";

test("pictures are played as they are believed", () => {
  for (const picture of believedPictures()) {
    const { delay, mean, laggards, laggardMean } = picture;
    const world = simulateWorld(scenarioOfPicture(picture, 3, 1, 150), 21);
    const times = world.convergence.flatMap((each) => [...each]);
    const believed = delay + (1 - laggards) * mean + laggards * laggardMean;
    assertMean(times, believed * drainDefaults.convergence, `delay ${delay}, mean ${mean}, ${laggards}`);
  }
});
