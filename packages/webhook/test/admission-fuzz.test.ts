import assert from "node:assert/strict";
import test from "node:test";
import { answerReview } from "../src/admission/handler.ts";
import { random as randomFrom } from "../../drain/test/random.ts";
import { randomBody, wrongWith } from "../fuzz/reviews.ts";

test("3,000 reviews of every shape: each answer is whole, and nothing hostile reaches a command, a path or a prototype", () => {
  for (let seed = 1; seed <= 3_000; seed++) {
    const random = randomFrom(seed);
    const body = randomBody(random);
    assert.deepEqual(wrongWith(body, random), [], `seed ${seed}`);
  }
});

test("the fuzzer sees what it looks for", () => {
  const seen = new Set<boolean>();
  for (let seed = 1; seed <= 200; seed++) {
    const body = randomBody(randomFrom(seed));
    seen.add(answerReview(body, () => ({ allowed: true })).outcome === "unreadable");
  }
  assert.equal(seen.size, 2, "bodies that can be read, and such that cannot");
});
