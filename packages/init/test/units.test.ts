/** Parts of the program by themselves, where a whole hold would not show what they do. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, test } from "node:test";
import { nativeProgram, withoutCompiler } from "./compiled.ts";

function linesOf(program: string, words: readonly string[] = [], input = "", env = {}): string[] {
  const output = execFileSync(nativeProgram(program), words, {
    input,
    encoding: "utf8",
    env: { ...process.env, ...env },
  });
  return output.trimEnd().split("\n");
}

describe("parts of the init", { skip: withoutCompiler }, () => {
  test("each signal has a name that options take", () => {
    const lines = linesOf("signals").map((line) => line.split(" "));
    assert.equal(lines.length, 64);
    for (const [number, name, read] of lines) assert.equal(read, number, name);
    assert.equal(lines[14]?.[1], "SIGTERM");
    assert.equal(lines[36]?.[1], "SIGRTMIN+3");
  });

  test("a connection that has received less than before is a new one between the same ports", () => {
    const seen = linesOf("connections", [], "1000 1000 2000 10 20 - 30 0");
    assert.deepEqual(seen, ["0 1", "1 1", "1 1", "0 1", "1 1", "1 1", "1 1", "0 1"]);
  });

  test("a pool is known after the chosen convergence wherever the policy weighs evidence", () => {
    for (const [words, known] of [
      [["adaptive"], "10000"],
      [["adaptive", "1s"], "2500"],
      [["acknowledged"], "10000"],
      [["acknowledged", "1s"], "2500"],
      [["quiet"], "10000"],
    ] as const)
      assert.deepEqual(linesOf("pools", words), [known], words.join(" "));
  });

  test("of connections without an address those that get one are taken back, the latest first, however many were told", () => {
    for (const [told, takenBack, first, last] of [
      [10, [3], 1, 7],
      [100, [3], 37, 97],
      [100, [3, 4], 37, 93],
      [100, [70], 1, 0],
    ] as const) {
      const lines = linesOf("unattributed", [told, ...takenBack].map(String));
      const seen = lines.map((line) => JSON.parse(line) as { type: string; at: number });
      const again = seen.slice(seen.findLastIndex(({ type }) => type === "forgotten") + 1);
      const times = again.filter(({ type }) => type === "arrival").map(({ at }) => at);
      const expected = Array.from({ length: last - first + 1 }, (_, index) => (first + index) * 10);
      assert.deepEqual(times, expected, `${told}, ${takenBack.join(" ")}`);
    }
  });

  test("the settings keep what the program is told, and do not point to what the C library has freed", () => {
    for (const text of ["quiet", "quiet\n"])
      assert.deepEqual(linesOf("variables", [], "", { LAMEDUCK_POLICY: text }), ["1"], JSON.stringify(text));
  });
});
