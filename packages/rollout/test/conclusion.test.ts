import assert from "node:assert/strict";
import { test } from "node:test";
import type { RemedyResult } from "@lameduck/accounting";
import { rolloutConclusion, type Target } from "../src/index.ts";

const target = { reference: { kind: "deployment", name: "web", namespace: "shop" } } as Target;

/** What the conclusion reads of a run that lost 1,500 of 2,000 requests. */
function resultOf(terminations: number): RemedyResult {
  const lostRequests = Array.from({ length: 1_500 }, () => ({ cause: "C1", mode: "new" }));
  return { terminations, sent: 2_000, weff: 0, lostRequests } as unknown as RemedyResult;
}

test("the numbers of a conclusion are all written alike", () => {
  assert.equal(
    rolloutConclusion(resultOf(2), target),
    "deployment/web lost 1,500 of 2,000 requests in 2 terminations.",
  );
  assert.match(rolloutConclusion(resultOf(0), target), / 1,500 of 2,000 requests lost all the same\.$/);
});
