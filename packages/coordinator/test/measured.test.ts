import assert from "node:assert/strict";
import { it } from "node:test";
import { Model } from "./model.ts";

/** A node that reports, and a pod that has been there for long. */
function running(): Model {
  const model = new Model();
  model.node("node1");
  model.pod("a");
  model.publish("a", true);
  model.report("node1", 0);
  model.synced();
  return model;
}

it("the time of a consumer is measured from a deletion that withdraws the pod", () => {
  const model = running();
  model.pod("a", true);
  model.publish("a", false);
  assert.equal(model.record("a").isMeasured, true);
});

it("a pod that was not ready when it was deleted measures no consumer", () => {
  const model = running();
  model.publish("a", false, { isTerminating: false });
  model.pass(5_000);
  model.pod("a", true);
  assert.equal(model.record("a").isMeasured, false);
});

it("a held deletion measures no consumer, because it is let through once consumers have let go", () => {
  const model = running();
  model.terminations.follow("a", model.now);
  model.publish("a", false, { isTerminating: false });
  model.report("node1", 1);
  assert.equal(model.state("a"), "released");
  model.pass(2_000);
  model.pod("a", true);
  assert.equal(model.record("a").isMeasured, false);
});
