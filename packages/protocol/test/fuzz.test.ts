import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { printable } from "@lameduck/drain/common";
import { LineReader, parsePodAnswer, parseStreamAnswer, writeStreamAnswer } from "../src/index.ts";

test("any text is an answer of version 1 or none, and nothing of it breaks a line", () => {
  // Any character, also such as turn the direction of a terminal's line.
  const any = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("\u0085", "a\u202eb", "\u009b31m", "x".repeat(2_000)),
  );
  const line = fc.oneof(
    any,
    fc
      .tuple(fc.constantFrom("state", "consumers", "behind", "released-ms", "mode", "last"), any)
      .map((pair) => pair.join(": ")),
    fc.constantFrom(
      "state: released",
      "state: waiting",
      "released-ms: -1",
      "released-ms: 1e99",
      "consumers: 1/2",
    ),
  );
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      const answer = parsePodAnswer(["lameduck 1", ...lines].join("\n"));
      const { releasedMs = 0 } = answer;
      assert.ok(releasedMs >= 0 && releasedMs <= 3_600_000);
      assert.ok(answer.state === "released" || answer.releasedMs === undefined);
      for (const text of [answer.behind, answer.last, answer.consumers])
        assert.ok((text ?? "") === printable(text ?? "") && (text ?? "").length <= 300 * 6, text);
    }),
    { numRuns: 1_000 },
  );
  fc.assert(
    fc.property(fc.string(), (text) => assert.throws(() => parsePodAnswer(text), /no answer|version/)),
  );
});

test("lines of a stream are the same in whatever pieces they come, and one that is too long ends them", () => {
  const longest = 40;
  const text = fc.stringMatching(/^[a-z\u00e9\u4e2d]{0,12}$/);
  fc.assert(
    fc.property(
      fc.array(text),
      text,
      fc.infiniteStream(fc.integer({ min: 1, max: 9 })),
      (lines, rest, sizes) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join("") + rest);
        const reader = new LineReader(longest);
        const found: unknown[] = [];
        for (let at = 0; at < bytes.length;) {
          const size = sizes.next().value;
          found.push(...reader.take(bytes.subarray(at, at + size)));
          at += size;
        }
        assert.deepEqual(found, lines);
      },
    ),
  );
  for (const size of [1, 7, 200]) {
    const reader = new LineReader(longest);
    const found: unknown[] = [];
    const bytes = Buffer.from(`${"x".repeat(longest)}\n${"y".repeat(longest + 1)}\n`);
    for (let at = 0; at < bytes.length && !found.includes(undefined); at += size)
      found.push(...reader.take(bytes.subarray(at, at + size)));
    assert.deepEqual(found.slice(0, 2), ["x".repeat(longest), undefined], `pieces of ${size}`);
  }
});

test("a line of a stream is an answer, or is known to be none", () => {
  fc.assert(
    fc.property(fc.integer({ min: 100, max: 599 }), fc.json(), (status, text) => {
      assert.deepEqual(parseStreamAnswer(writeStreamAnswer({ status, text }).slice(0, -1)), { status, text });
    }),
  );
  for (const line of ["", "hello", "20 {}", "2000 {}", "200{}", " 200 {}"])
    assert.equal(parseStreamAnswer(line), undefined, line);
});
