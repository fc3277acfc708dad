import assert from "node:assert/strict";
import { test } from "node:test";
import { presets as ofLab, type Delay } from "@lameduck/rollout";
import { Random } from "../src/kernel/random.ts";
import { startForwarder } from "../src/model/forwarder.ts";
import { presets } from "../src/model/presets.ts";
import { meanOfAll } from "./samples.ts";

/** The mean of what one of the lab's senders waits for by itself. */
function meanOf(delay: Delay): number {
  switch (delay.kind) {
    case "fixed":
      return delay.after;
    case "uniform":
      return (delay.from + delay.to) / 2;
    case "lognormal": {
      const quantile = delay.share === 0.9 ? 1.2816 : 2.3263;
      return delay.median * Math.exp((Math.log(delay.at / delay.median) / quantile) ** 2 / 2);
    }
    case "measured": {
      let mean = 0;
      let [before, low] = [0, 0];
      for (const [upTo, high] of delay.points) {
        mean += ((upTo - before) * (low + high)) / 2;
        [before, low] = [upTo, high];
      }
      return mean;
    }
    case "sum":
      return delay.parts.reduce((sum, part) => sum + meanOf(part), 0);
    case "back-off":
      throw new Error("the controller's, not a sender's");
  }
}

// Two tables, because the lab draws delays where the simulator plays mechanisms, and neither package may know the other. They must mean the same.
test("a preset of the lab and the simulator's of the same name converge alike, within 15 %", () => {
  const common = (Object.keys(ofLab) as (keyof typeof ofLab)[]).filter((name) => name in presets);
  assert.equal(common.length, Object.keys(ofLab).length, "the simulator lacks one of the lab's");
  for (const name of common) {
    const simulated = Array.from({ length: 4_000 }, (_, index) =>
      startForwarder(presets[name].forwarder, new Random("presets", name, index)).learn(0),
    );
    const mean = meanOfAll(simulated);
    const lab = meanOf(ofLab[name].own);
    assert.ok(Math.abs(mean - lab) <= 0.15 * lab + 10, `${name}: ${mean.toFixed(0)} ms, in the lab ${lab}`);
  }
});
