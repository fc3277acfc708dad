import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compareRuns } from "../src/comparison.ts";
import type { RemedyResult, Results } from "../src/model/results.ts";

/** What a comparison reads of a run. */
function run(losses: Readonly<Record<string, readonly (number | "untested")[]>>): Results {
  const remedies = Object.entries(losses).map(
    ([remedy, each]) =>
      ({
        remedy,
        hold: { count: each.length, p50: 1_000, p90: 1_000, max: 1_000 },
        each: each.map((lost) => (lost === "untested" ? { lost: 0, untested: "no load" } : { lost })),
      }) as unknown as RemedyResult,
  );
  return { remedies } as unknown as Results;
}

const differenceOf = (before: readonly number[], after: readonly number[]): string | undefined =>
  compareRuns(run({ a: before }), run({ a: after })).remedies[0]?.difference;

test("more and fewer losses are told where chance does not explain them", () => {
  const [none, many] = [Array<number>(12).fill(0), Array<number>(12).fill(7)];
  assert.equal(differenceOf(none, many), "more");
  assert.equal(differenceOf(many, none), "fewer");
  assert.equal(differenceOf(none, none), "none-shown");
  assert.equal(differenceOf([0, 0, 0, 1], [0, 0, 1, 1]), "none-shown");
});

test("what no load went through says nothing, and what stands in one run is named", () => {
  const { remedies, onlyBefore, onlyAfter } = compareRuns(
    run({ a: [1, "untested"], b: ["untested"], gone: [0] }),
    run({ a: [1], b: [0], come: [0] }),
  );
  assert.deepEqual(
    remedies.map(({ difference, before }) => [difference, before.terminations]),
    [
      ["none-shown", 1],
      ["untested", 0],
    ],
  );
  assert.deepEqual([onlyBefore, onlyAfter], [["gone"], ["come"]]);
});

test("a comparison of runs that differ by chance alone shows a difference seldom, and is the same in both directions", () => {
  const losses = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 12, maxLength: 12 });
  let shown = 0;
  let all = 0;
  fc.assert(
    fc.property(losses, losses, (one, other) => {
      const there = compareRuns(run({ a: one }), run({ a: other })).remedies[0];
      const back = compareRuns(run({ a: other }), run({ a: one })).remedies[0];
      assert.ok(Math.abs((there?.p ?? 0) - (back?.p ?? 0)) < 0.05);
      all++;
      if (there?.difference !== "none-shown") shown++;
    }),
    { numRuns: 60, seed: 7 },
  );
  assert.ok(shown / all < 0.25, `${shown} of ${all}`);
});
