import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Watermark } from "../src/watermark.ts";

describe("a watermark", () => {
  it("a watermark is behind until both addresses of a pod of two families are let go of", () => {
    const watermark = new Watermark();
    const both = [
      ["10.244.1.5", 1],
      ["fd00::1:5", 1],
    ] as const;
    watermark.update(1, both);
    assert.deepEqual(watermark.pending, both);
    watermark.markApplied(1, "fd00::1:5");
    assert.equal(watermark.progress().applied, 0);
    // The answer to a report from before lists both once more.
    watermark.update(1, both);
    assert.deepEqual(watermark.pending, [["10.244.1.5", 1]]);
    watermark.markApplied(1, "10.244.1.5");
    assert.equal(watermark.progress().applied, 1);
  });

  it("a watermark keeps the later withdrawals that are applied while an earlier address stays in use", () => {
    const watermark = new Watermark();
    watermark.update(3, [
      ["10.0.0.1", 1],
      ["10.0.0.2", 2],
    ]);
    watermark.markApplied(2, "10.0.0.2");
    assert.deepEqual(watermark.progress(), { applied: 0, also: [[2, 3]] });
  });
});
