/** The same seed gives the same requests in every release. The digests were recorded at commit 8946fcb of 27 November 2026. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { Schedule } from "../src/generator/schedule.ts";
import type { LoadPlan } from "../src/index.ts";

const recorded = { poisson: "d25092fdc523673c", fixed: "468bf907386b9812" } as const;

/** A digest of the first 5,000 requests to three senders. */
function digestOf(arrivals: keyof typeof recorded, seed: number): string {
  const plan = {
    rate: 600,
    arrivals,
    pooledShare: 0.5,
    slowShare: 0.02,
    largeShare: 0.01,
    maxRequests: 100_000,
    maxDuration: 1_000_000,
  } as LoadPlan;
  const schedule = new Schedule(plan, 3, seed);
  const slots = Array.from({ length: 5_000 }, () => schedule.take());
  return createHash("sha256").update(JSON.stringify(slots)).digest("hex").slice(0, 16);
}

for (const arrivals of ["poisson", "fixed"] as const)
  test(`a plan and a seed give the recorded schedule of ${arrivals} arrivals`, () => {
    assert.equal(digestOf(arrivals, 7), recorded[arrivals]);
    assert.notEqual(digestOf(arrivals, 8), recorded[arrivals]);
  });
