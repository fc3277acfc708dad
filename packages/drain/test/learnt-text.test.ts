import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { learn, learntText, parseLearnt, unusable } from "../src/index.ts";
import { hypothesisCount } from "../src/belief/hypotheses.ts";

const lessons = fc
  .array(fc.double({ min: 1e-9, max: 1, noNaN: true }), {
    minLength: hypothesisCount,
    maxLength: hypothesisCount,
  })
  .map((weights) => weights.map((weight) => weight / weights.reduce((sum, each) => sum + each, 0)));

test("what was learnt is read as it was written, in one short line", () => {
  fc.assert(
    fc.property(lessons, (lesson) => {
      const learnt = learn(undefined, lesson);
      const text = learntText(learnt);
      assert.match(text, /^[\d.:,e-]{100,1200}$/);
      const read = parseLearnt(text)!;
      assert.equal(read.terminations, 1);
      for (const [index, weight] of read.weights.entries())
        assert.ok(Math.abs(weight - (learnt.weights[index] ?? NaN)) <= 1e-6 + weight / 1_000);
      assert.equal(learn(read, lesson).terminations, 2);
    }),
  );
});

test("a text of any other form is read as nothing learnt", () => {
  const version = learntText(
    learn(
      undefined,
      Array.from({ length: hypothesisCount }, () => 1),
    ),
  ).split(":")[0];
  for (const text of [
    "",
    "1:2:3",
    `${version}:-1:1`,
    `${version}:1:1,2`,
    `${version}:1:NaN`,
    "x".repeat(9_000),
  ])
    assert.equal(parseLearnt(text), undefined, text);
  fc.assert(
    fc.property(fc.string(), (text) => {
      const read = parseLearnt(text);
      assert.ok(read === undefined || unusable(read) === undefined);
    }),
  );
});
