import assert from "node:assert/strict";
import { test } from "node:test";
import { skippedRemedy, type RemedyResult } from "@lameduck/accounting";
import { exitCodeOfResults, exitCodeOfError } from "../src/exit-codes.ts";

const nothing = skippedRemedy("x", "x", "x");
const { skipped: _, ...empty } = nothing;
const clean: RemedyResult = { ...empty, terminations: 1, sent: 100 };
const lost = {
  id: 1,
  at: 1,
  waited: 1,
  sender: "s",
  mode: "new",
  outcome: "refused",
  sentence: "x",
} as const;
const loses: RemedyResult = { ...clean, lostRequests: [{ ...lost, cause: "C1" }] };

const cases: [title: string, results: RemedyResult[], allowLoss: boolean, code: number][] = [
  ["nothing lost", [clean], false, 0],
  ["something lost", [clean, loses], false, 1],
  ["something lost, which is allowed", [clean, loses], true, 0],
  ["cut by a sender itself", [{ ...clean, lostRequests: [{ ...lost, cause: "proxy" }] }], false, 0],
  ["one that could not be run", [clean, nothing], false, 5],
  ["no load", [{ ...clean, sent: 0 }], false, 5],
  ["no termination", [{ ...clean, terminations: 0 }], true, 5],
  ["lost, which is allowed, and a termination untested", [{ ...loses, untested: 1 }], true, 5],
  ["killed at the end of its grace period", [clean, { ...clean, killed: 1 }], false, 1],
  ["killed, which is allowed", [{ ...clean, killed: 1 }], true, 0],
  ["failed as often before", [{ ...clean, lostRequests: [{ ...lost, cause: "C12" }] }], false, 0],
  ["lost and untested", [loses, nothing], false, 1],
];

for (const [title, results, allowLoss, code] of cases)
  test(`${title}: exit code ${code}`, () => assert.equal(exitCodeOfResults(results, { allowLoss }), code));

test("what is wrong outside the command line is told apart from mistakes in it", () => {
  assert.equal(exitCodeOfError("LAMEDUCK_API_UNREACHABLE"), 4);
  assert.equal(exitCodeOfError("LAMEDUCK_BAD_OPTION"), 2);
  assert.equal(exitCodeOfError("LAMEDUCK_OF_A_LATER_RELEASE"), 2);
});
