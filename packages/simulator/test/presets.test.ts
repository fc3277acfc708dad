import assert from "node:assert/strict";
import { test } from "node:test";
import { propagationOf } from "@lameduck/load";
import { meanOf, presets, type PresetName } from "@lameduck/load/propagation";
import { Random } from "../src/kernel/random.ts";
import { startForwarder } from "../src/model/forwarder.ts";
import { meanOfAll } from "./samples.ts";

// The lab draws one delay where the simulator plays the mechanism: the two must mean the same.
test("a preset converges alike in the lab and in the simulator, within 15 %", () => {
  for (const name of Object.keys(presets) as PresetName[]) {
    const simulated = Array.from({ length: 4_000 }, (_, index) =>
      startForwarder(presets[name].forwarder, new Random("presets", name, index)).learn(0),
    );
    const mean = meanOfAll(simulated);
    const lab = meanOf(propagationOf(name).own);
    assert.ok(Math.abs(mean - lab) <= 0.15 * lab + 10, `${name}: ${mean.toFixed(0)} ms, in the lab ${lab}`);
  }
});
