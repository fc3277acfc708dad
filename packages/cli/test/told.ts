import assert from "node:assert/strict";
import { test } from "node:test";
import { run } from "./running.ts";

export type Mistake = [title: string, args: string[], says: RegExp];

/** A user's mistake is told in a line or two that say what to do, and never with a stack trace. */
export function testThatEachIsTold(mistakes: readonly Mistake[]): void {
  for (const [title, args, says] of mistakes)
    test(`${title}: told in a line or two, exit code 2`, async () => {
      const { code, out, err } = await run(args);
      assert.match(err, says);
      assert.equal(code, 2, err);
      assert.equal(out, "");
      assert.doesNotMatch(err, /^\s+at /m, "no stack trace");
    });
}
