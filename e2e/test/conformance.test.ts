import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { whyNot } from "../cluster/index.ts";
import { comparePods, shapeOf } from "../conformance/compare.ts";
import { runInLab, type LabRuns } from "../conformance/lab/run-in-lab.ts";
import { readRecording } from "../conformance/recording.ts";
import { podScenarios, rolloutScenarios } from "../conformance/scenarios/index.ts";

const reason = await whyNot();

/** The lab has no kubelet to restart, does not wait for a newer status of a pod that has just become ready, and its nodes neither end nor evict. */
const notInLab = new Set(["kubelet-restarted", "deleted-when-just-ready"]);
const podNames = podScenarios
  .filter(({ name, endedBy }) => !notInLab.has(name) && endedBy === undefined)
  .map(({ name }) => name);

/** The kubelet's own steps take some 50 ms here; twenty pods at once on two processors make that hundreds. The rules differ by seconds. */
const tolerance = 700;

describe("the local stage against recordings of a real kubelet", { skip: reason ?? false }, () => {
  let lab: LabRuns;

  before(async () => {
    lab = await runInLab([...podNames, ...rolloutScenarios.map(({ name }) => name)]);
  });

  for (const name of podNames)
    it(`the lab does the same as the kubelet in the recording ${name}`, async () => {
      const { observations } = await readRecording(name);
      const first = comparePods(observations, lab[name] ?? [], tolerance);
      if (first.length === 0) return;
      // A machine that stood still is late once, in a place of its own. A rule that is wrong differs again, and alone.
      const again = (await runInLab([name]))[name] ?? [];
      assert.deepEqual(comparePods(observations, again, tolerance), [], `at first: ${JSON.stringify(first)}`);
    });

  for (const { name, replicas } of rolloutScenarios)
    it(`the lab takes the steps of the Deployment controller in the recording ${name}`, async () => {
      const { observations } = await readRecording(name);
      assert.deepEqual(shapeOf(lab[name] ?? [], replicas), shapeOf(observations, replicas));
    });

  it("the comparison of lab and kubelet sees a difference where there is one", async () => {
    const { observations } = await readRecording("term-ignored");
    const tooLate = observations.map((one) => ("code" in one ? { ...one, at: one.at + 1_000 } : one));
    assert.deepEqual(
      comparePods(tooLate, observations, tolerance).map(({ what }) => what),
      ["ignores exited 137 #1", "takes-2s exited 0 #1"],
    );
    const silent = observations.filter((one) => !("event" in one) || one.event !== "signal");
    assert.equal(comparePods(observations, silent, tolerance).length, 2);
  });
});
