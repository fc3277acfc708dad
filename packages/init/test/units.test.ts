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

  test("the settings keep what the program is told, and do not point to what the C library has freed", () => {
    for (const text of ["quiet", "quiet\n"])
      assert.deepEqual(linesOf("variables", [], "", { LAMEDUCK_POLICY: text }), ["1"], JSON.stringify(text));
  });
});
