import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { type DecisionVector, runVector } from "./vectors.ts";

const folder = new URL("../vectors/", import.meta.url);

for (const file of readdirSync(folder).sort()) {
  const vectors = JSON.parse(readFileSync(new URL(file, folder), "utf8")) as DecisionVector[];
  for (const vector of vectors)
    test(`the decision on ${file} is the recorded one: ${vector.name} (${vector.why})`, () => {
      const outcome = runVector(vector);
      assert.equal(outcome.reason, vector.expect.reason);
      assert.ok(
        Math.abs(outcome.stop - vector.expect.stop) <= 1,
        `stopped at ${outcome.stop} ms instead of ${vector.expect.stop} ms`,
      );
    });
}

test("the names of vectors are unique, so that a failure names one vector", () => {
  const names = readdirSync(folder).flatMap((file) =>
    (JSON.parse(readFileSync(new URL(file, folder), "utf8")) as DecisionVector[]).map(({ name }) => name),
  );
  assert.equal(new Set(names).size, names.length);
});
