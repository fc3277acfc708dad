import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { run, type Ended } from "./running.ts";

export type Mistake = [title: string, args: string[], says: RegExp, exit?: number];

/** What a user can mend is told in a line that says what to do, and never with a stack trace. */
export function testThatEachIsTold(mistakes: readonly Mistake[]): void {
  describe("a mistake is told in a line or two", () => {
    let ended: Ended[] = [];
    before(async () => {
      ended = await Promise.all(mistakes.map(([, args]) => run(args)));
    });
    for (const [index, [title, , says, exit = 2]] of mistakes.entries())
      test(`${title}: exit code ${exit}`, () => {
        const end = ended.at(index);
        assert.ok(end, "it was run");
        const { code, out, err } = end;
        assert.match(err, says);
        assert.equal(code, exit, err);
        assert.equal(out, "");
        assert.doesNotMatch(err, /^\s+at /m, "no stack trace");
      });
  });
}
