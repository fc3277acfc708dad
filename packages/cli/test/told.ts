import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { runProgram, type Ended } from "./running.ts";

export type Mistake = [title: string, args: string[], says: RegExp, exit?: number];

const commandsProcess = fileURLToPath(new URL("commands-process.ts", import.meta.url));

/** What came of command lines that are run in one process, which ends by itself. */
export async function runEach(commands: readonly (readonly string[])[]): Promise<Ended[]> {
  const { code, out, err } = await runProgram(process.execPath, [commandsProcess, JSON.stringify(commands)]);
  assert.equal(code, 0, err);
  // Output and exit code take turns; behind the last exit code there is nothing.
  const [outs, errs] = [out.split("\0"), err.split("\0")];
  return commands.map((_, index) => ({
    code: Number(errs[2 * index + 1] ?? Number.NaN),
    out: outs[2 * index] ?? "",
    err: errs[2 * index] ?? "",
  }));
}

/** What a user can mend is told in a line that says what to do, and never with a stack trace. */
export function testThatEachIsTold(mistakes: readonly Mistake[]): void {
  describe("a mistake is told in a line or two", () => {
    let ended: Ended[] = [];
    before(async () => {
      ended = await runEach(mistakes.map(([, args]) => args));
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
