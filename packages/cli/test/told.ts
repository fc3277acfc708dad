import assert from "node:assert/strict";
import { test } from "node:test";
import { run } from "./running.ts";

export type Mistake = [title: string, args: string[], says: RegExp, exit?: number];

/** What a user can mend is told in a line that says what to do, and never with a stack trace. */
export function testThatEachIsTold(mistakes: readonly Mistake[]): void {
  for (const [title, args, says, exit = 2] of mistakes)
    test(`${title}: told in a line or two, exit code ${exit}`, async () => {
      const { code, out, err } = await run(args);
      assert.match(err, says);
      assert.equal(code, exit, err);
      assert.equal(out, "");
      assert.doesNotMatch(err, /^\s+at /m, "no stack trace");
    });
}
