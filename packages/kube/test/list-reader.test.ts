import assert from "node:assert/strict";
import { test } from "node:test";
import { LineReader } from "../src/line-reader.ts";
import { ListReader, MalformedList } from "../src/list-reader.ts";

const objects = [
  { metadata: { name: "a" }, text: '}]{["\\', list: [[{}], [1, "ü€😀"]] },
  {},
  { "\\": "\\\\", '"': [] },
];
const rest = { kind: "PodList", metadata: { resourceVersion: "7", note: "[{]}" } };

function readIn(parts: readonly Buffer[]): ListReader<unknown> {
  const reader = new ListReader((text) => JSON.parse(text) as unknown);
  for (const part of parts) reader.take(part);
  return reader;
}

test("a list is read with its objects and its other fields, wherever the answer is split", () => {
  for (const value of [
    { ...rest, items: objects },
    { items: objects, ...rest },
  ])
    for (const space of [undefined, 2]) {
      const whole = Buffer.from(JSON.stringify(value, null, space));
      for (let at = 0; at <= whole.length; at++) {
        const reader = readIn([whole.subarray(0, at), whole.subarray(at)]);
        assert.deepEqual(reader.items, objects);
        assert.deepEqual(JSON.parse(reader.rest), { ...rest, items: [] });
      }
      const each = Array.from(whole, (_, at) => whole.subarray(at, at + 1));
      assert.deepEqual(readIn(each).items, objects);
    }
});

test("an answer that is no list is returned whole", () => {
  for (const text of ['{"kind":"Status","code":410}', '{"items":null}', "no JSON", "", '{"items":[]}']) {
    const reader = readIn([Buffer.from(text)]);
    assert.equal(reader.rest, text);
    assert.deepEqual(reader.items, []);
  }
});

test("an object that is not kept is left out of a list", () => {
  const reader = new ListReader((text) => (text.includes("x") ? text : undefined));
  reader.take(Buffer.from('{"items":[{"a":1},{"x":1}]}'));
  assert.deepEqual(reader.items, ['{"x":1}']);
});

test("a list of something else, and an object without an end, are refused", () => {
  assert.throws(() => readIn([Buffer.from('{"items":[{},1]}')]), MalformedList);
  assert.throws(() => readIn([Buffer.from('{"items":["{}"]}')]), MalformedList);
  const part = Buffer.alloc(1_048_576, "x");
  assert.throws(
    () => readIn([Buffer.from('{"items":[{"a":"'), ...Array.from({ length: 33 }, () => part)]),
    MalformedList,
  );
});

test("lines are read wherever they are split, and a line above the bound is refused", () => {
  const whole = Buffer.from("one\n\ntwo ü\nthree");
  for (let at = 0; at <= whole.length; at++) {
    const reader = new LineReader(10);
    const lines = [whole.subarray(0, at), whole.subarray(at)].flatMap((part) => reader.take(part));
    assert.deepEqual(lines, ["one", "", "two ü"]);
  }
  assert.equal(new LineReader(4).take(whole.subarray(0, 5))?.length, 2);
  assert.equal(new LineReader(4).take(Buffer.from("a\nthree")), undefined);
});
