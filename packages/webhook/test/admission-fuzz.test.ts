import assert from "node:assert/strict";
import test from "node:test";
import { answerReview } from "../src/admission/review.ts";
import { random as randomFrom } from "../../drain/test/random.ts";
import { randomBody, wrongWith } from "../fuzz/reviews.ts";

test("each of 3,000 reviews of every shape has a whole answer, and nothing hostile reaches a command, a path or a prototype", async () => {
  for (let seed = 1; seed <= 3_000; seed++) {
    const random = randomFrom(seed);
    const body = randomBody(random);
    assert.deepEqual(await wrongWith(body, random), [], `seed ${seed}`);
  }
});

test("the fuzzer of reviews makes both bodies that can be read and bodies that cannot", async () => {
  const seen = new Set<boolean>();
  for (let seed = 1; seed <= 200; seed++) {
    const body = randomBody(randomFrom(seed));
    const { signal } = new AbortController();
    const { outcome } = await answerReview(body, () => ({ allowed: true }), signal);
    seen.add(outcome === "unreadable");
  }
  assert.equal(seen.size, 2);
});
