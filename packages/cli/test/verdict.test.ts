import assert from "node:assert/strict";
import { test } from "node:test";
import type { RemedyResult } from "@lameduck/accounting";
import type { Finding } from "@lameduck/audit";
import { verdictOf } from "../src/audit/prove/verdict.ts";

const finding = { rule: "no-lame-duck", severity: "warning" } as Finding;
const lost = (lostByCause: RemedyResult["lostByCause"]): RemedyResult =>
  ({
    terminations: 2,
    killed: 0,
    lost: Object.values(lostByCause).reduce((sum, count) => sum + count, 0),
    lostByCause,
  }) as RemedyResult;

for (const [what, after, because] of [
  ["nothing", lost({}), "5 requests lost; none when fixed"],
  ["less", lost({ C1: 1 }), "5 requests lost; when fixed 1 request lost"],
  ["something else", lost({ C7: 3 }), "5 requests lost; none of it when fixed, but 3 lost by C7"],
] as const)
  test(`a proof says what is lost when fixed: ${what}`, () => {
    assert.equal(verdictOf(finding, { before: lost({ C1: 5 }), after }).because, because);
  });
