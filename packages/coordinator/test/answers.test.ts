import assert from "node:assert/strict";
import test from "node:test";
import { Answers } from "../src/state/answers.ts";
import { Withdrawals } from "../src/state/withdrawals.ts";

interface Answer {
  readonly head: number;
  readonly withdrawn: readonly (readonly [string, number])[];
}

function pending(count: number): { readonly withdrawals: Withdrawals; readonly answers: Answers } {
  const withdrawals = new Withdrawals();
  for (let pod = 1; pod <= count; pod++) withdrawals.add([`10.0.${pod >> 8}.${pod & 255}`], pod);
  return { withdrawals, answers: new Answers("e", withdrawals) };
}

const read = (text: string): Answer => JSON.parse(text) as Answer;

test("an answer has the withdrawals that its consumer has not applied, as of now", () => {
  const { withdrawals, answers } = pending(5);
  assert.deepEqual(read(answers.after(3, [])).withdrawn, [
    ["10.0.0.4", 4],
    ["10.0.0.5", 5],
  ]);
  assert.deepEqual(read(answers.after(3, [[4, 4]])).withdrawn, [["10.0.0.5", 5]]);
  assert.equal(answers.after(3, []), answers.after(3, []));
  withdrawals.drop(4);
  assert.deepEqual(read(answers.after(3, [])).withdrawn, [["10.0.0.5", 5]]);
  assert.equal(read(answers.after(5, [])).head, 5);
});

test("thousands of consumers at different places do not fill the memory with answers", () => {
  const count = 3_000;
  const { answers } = pending(count);
  let made = 0;
  let most = 0;
  for (let applied = 0; applied < count; applied++) {
    const answer = answers.after(applied, []);
    made += answer.length;
    most = Math.max(most, answers.size);
    if (applied % 500 === 0) assert.equal(read(answer).withdrawn.length, count - applied);
  }
  assert.ok(made > 40_000_000, "a test that can fail");
  assert.ok(most < 10_000_000, `${most} characters`);
});
