import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { parse } from "yaml";
import {
  appendItems,
  applyEdits,
  type Field,
  insertField,
  readStream,
  replaceScalar,
  scalar,
} from "../src/index.ts";

function only(text: string): Field {
  const { objects, failures } = readStream(text, "pod.yaml", (kind) => kind === "Pod");
  assert.deepEqual(failures, []);
  const [pod] = objects;
  assert.ok(pod);
  return pod;
}

describe("splice", () => {
  test("a scalar is replaced at its place, and comments, other quotes and layout stay", () => {
    const text =
      "# who reads this\nkind:   Pod\nspec:\n    terminationGracePeriodSeconds: 30   # half a minute\n    x: 'y'\n";
    const edit = replaceScalar(only(text).at("spec").at("terminationGracePeriodSeconds"), "60");
    assert.equal(applyEdits(text, [edit!]), text.replace("30   #", "60   #"));
  });

  const places: [name: string, text: string, expected: string][] = [
    [
      "block, first field on one line",
      "kind: Pod\nspec:\n  a: 1\n  b: 2\n",
      "kind: Pod\nspec:\n  a: 1\n  g: 9\n  b: 2\n",
    ],
    [
      "block, first field larger",
      "kind: Pod\nspec:\n  a:\n    - 1\n",
      "kind: Pod\nspec:\n  g: 9\n  a:\n    - 1\n",
    ],
    ["in a list item", "kind: Pod\nspec:\n- a: 1\n  b: 2\n", "kind: Pod\nspec:\n- a: 1\n  g: 9\n  b: 2\n"],
    ["flow", "kind: Pod\nspec: { a: 1 }\n", "kind: Pod\nspec: { g: 9, a: 1 }\n"],
    ["flow, empty", "kind: Pod\nspec: {}\n", "kind: Pod\nspec: { g: 9 }\n"],
    ["JSON", '{"kind": "Pod", "spec": {"a": 1}}', '{"kind": "Pod", "spec": { "g": 9,"a": 1}}'],
    ["no newline at the end", "kind: Pod\nspec:\n  a: 1", "kind: Pod\nspec:\n  g: 9\n  a: 1"],
    [
      "CRLF",
      "kind: Pod\r\nspec:\r\n  a: 1\r\n  b: 2\r\n",
      "kind: Pod\r\nspec:\r\n  a: 1\r\n  g: 9\r\n  b: 2\r\n",
    ],
    ["one CRLF elsewhere", "kind: Pod\r\nspec:\n  a: 1\n", "kind: Pod\r\nspec:\n  a: 1\n  g: 9\n"],
    [
      "where its key is without a value",
      "kind: Pod\nspec:\n  g: # why\n  b: 2\n",
      "kind: Pod\nspec:\n  g: 9 # why\n  b: 2\n",
    ],
    ["where its key ends the file", "kind: Pod\nspec:\n  g:", "kind: Pod\nspec:\n  g: 9"],
    ["where it is null", 'kind: Pod\nspec:\n  "g" : ~\n', 'kind: Pod\nspec:\n  "g" : 9\n'],
    [
      "where it is null in JSON",
      '{"kind": "Pod", "spec": {"a": 1, "g":null}}',
      '{"kind": "Pod", "spec": {"a": 1, "g":9}}',
    ],
  ];
  for (const [name, text, expected] of places)
    test(`a field is added to a mapping: ${name}`, () => {
      const spec = only(text).at("spec");
      const parent = spec.mapping ? spec : spec.items()[0];
      assert.ok(parent);
      const written = applyEdits(text, [insertField(text, parent, "g", "9")!])!;
      assert.equal(written, expected);
    });

  test("a nested field is added in block style and in flow style", () => {
    const block = "kind: Pod\nspec:\n  name: a\n";
    const hook = { preStop: { sleep: { seconds: "15" } } };
    const inBlock = applyEdits(block, [insertField(block, only(block).at("spec"), "lifecycle", hook)!])!;
    const json = '{"kind":"Pod","spec":{"name":"a"}}';
    const inJson = applyEdits(json, [insertField(json, only(json).at("spec"), "lifecycle", hook)!])!;
    const expected = { kind: "Pod", spec: { name: "a", lifecycle: { preStop: { sleep: { seconds: 15 } } } } };
    assert.deepEqual(parse(inBlock), expected);
    assert.deepEqual(JSON.parse(inJson), expected);
  });

  test("a list and a mapping can be added behind a key that had no value", () => {
    const text = "kind: Pod\nspec:\n  list:\n  map: null # none\n";
    const spec = only(text).at("spec");
    const edits = [
      insertField(text, spec, "list", [{ name: "a" }])!,
      insertField(text, spec, "map", { a: { b: "1" } })!,
    ];
    const expected = "kind: Pod\nspec:\n  list: [{ name: a }]\n  map: { a: { b: 1 } } # none\n";
    assert.equal(applyEdits(text, edits), expected);
  });

  test("nothing is added beside a key with an anchor or a tag, or with a null that has one", () => {
    for (const spec of ["- &a k: 1", "- !!str k: 1", "- ? k\n  : 1\n  g: &a", "- g: !!null null"]) {
      const text = `kind: Pod\nspec:\n${spec}\n`;
      const [parent] = only(text).at("spec").items();
      assert.ok(parent);
      assert.equal(insertField(text, parent, "g", "9"), undefined, spec);
    }
  });

  test("a field that is added to a list's last item stands before appended items", () => {
    const text = "kind: Pod\nspec:\n  list:\n    - name: a\n  after: 1\n";
    const list = only(text).at("spec").at("list");
    const [last] = list.items();
    assert.ok(last);
    const field = insertField(text, last, "value", "1")!;
    const item = appendItems(text, list, [{ name: "b" }])!;
    const expected = { list: [{ name: "a", value: 1 }, { name: "b" }], after: 1 };
    assert.deepEqual((parse(applyEdits(text, [field, item])!) as { spec: object }).spec, expected);
  });

  test("a value that an alias shares is not edited", () => {
    const text = "kind: Pod\nbase: &b { a: 1 }\nspec: *b\nother:\n  <<: *b\n";
    const pod = only(text);
    assert.equal(insertField(text, pod.at("spec"), "g", "9"), undefined);
    assert.equal(replaceScalar(pod.at("other").at("a"), "2"), undefined);
  });

  test("edits that overlap are refused as a whole", () => {
    const edit = (start: number, end: number) => ({ file: "a", span: [start, end] as const, text: "x" });
    assert.equal(applyEdits("0123456789", [edit(2, 5), edit(4, 6)]), undefined);
    assert.equal(applyEdits("0123456789", [edit(5, 6), edit(2, 5)]), "01xx6789");
  });

  test("a field added to any mapping, in any style, is there and nothing else has changed", () => {
    const value = fc.oneof(
      fc.integer(),
      fc.string(),
      fc.array(fc.integer(), { maxLength: 3 }),
      fc.constant({ x: { y: "z" } }),
    );
    const mapping = fc.dictionary(fc.stringMatching(/^[a-f]{1,3}$/), value, {
      minKeys: 1,
      maxKeys: 4,
      noNullPrototype: true,
    });
    fc.assert(
      fc.property(mapping, fc.constantFrom(0, 2, 4), (spec, indent) => {
        const whole = { kind: "Pod", spec };
        const text = indent === 0 ? JSON.stringify(whole) : JSON.stringify(whole, undefined, indent);
        const written = applyEdits(text, [insertField(text, only(text).at("spec"), "grace", "9")!])!;
        assert.deepEqual(JSON.parse(written), { kind: "Pod", spec: { ...spec, grace: 9 } });
      }),
    );
  });
});

describe("items are appended", () => {
  const places: [name: string, text: string, expected: string][] = [
    [
      "block",
      "kind: Pod\nl:\n  - a\n  - b # last\nz: 1\n",
      "kind: Pod\nl:\n  - a\n  - b # last\n  - x: 1\n    w: [2, 3]\nz: 1\n",
    ],
    [
      "block without indent",
      "kind: Pod\nl:\n- a: 1\n  b:\n  - 2\nz: 1\n",
      "kind: Pod\nl:\n- a: 1\n  b:\n  - 2\n- x: 1\n  w: [2, 3]\nz: 1\n",
    ],
    [
      "before a comment below",
      "kind: Pod\nl:\n- a\n# of z\nz: 1\n",
      "kind: Pod\nl:\n- a\n- x: 1\n  w: [2, 3]\n# of z\nz: 1\n",
    ],
    ["no newline at the end", "kind: Pod\nl:\n- a", "kind: Pod\nl:\n- a\n- x: 1\n  w: [2, 3]"],
    [
      "after a text of several lines",
      "kind: Pod\nl:\n- |\n  a\n  b\nz: 1\n",
      "kind: Pod\nl:\n- |\n  a\n  b\n- x: 1\n  w: [2, 3]\nz: 1\n",
    ],
    [
      "CRLF",
      "kind: Pod\r\nl:\r\n- a\r\nz: 1\r\n",
      "kind: Pod\r\nl:\r\n- a\r\n- x: 1\r\n  w: [2, 3]\r\nz: 1\r\n",
    ],
    ["flow", "kind: Pod\nl: [ a ]\n", "kind: Pod\nl: [ a, { x: 1, w: [2, 3] } ]\n"],
    ["flow, empty", "kind: Pod\nl: []\n", "kind: Pod\nl: [{ x: 1, w: [2, 3] }]\n"],
    ["JSON", '{"kind": "Pod", "l": ["a"]}', '{"kind": "Pod", "l": ["a", { "x": 1, "w": [2, 3] }]}'],
  ];
  for (const [name, text, expected] of places)
    test(`items are appended to a list: ${name}`, () => {
      const edit = appendItems(text, only(text).at("l"), [{ x: "1", w: ["2", "3"] }]);
      assert.equal(edit && applyEdits(text, [edit]), expected);
    });

  test("nothing is appended to a list that is shared, to a value that is no list, or where there is no indent to copy", () => {
    for (const text of [
      "kind: Pod\na: &a [1]\nl: *a\n",
      "kind: Pod\nl: {}\n",
      "kind: Pod\nl: 1\n",
      "kind: Pod\n",
    ])
      assert.equal(appendItems(text, only(text).at("l"), ["x"]), undefined);
  });
});

test("a scalar is read as it was written, in YAML and in a list of commands", () => {
  const hard = [
    "yes",
    "null",
    "1",
    "1e3",
    "0x1",
    "-1",
    "- a",
    "--a",
    "a: b",
    "a #b",
    "",
    " ",
    "'",
    '"',
    "{}",
    "~",
    "n",
    "0s",
    "-.inf",
    "---",
    "a\nb",
  ];
  for (const value of hard)
    assert.deepEqual(parse(`- ${scalar(value)}\n- [${scalar(value)}]\n`), [value, [value]]);
  fc.assert(fc.property(fc.string(), (value) => assert.deepEqual(parse(`[${scalar(value)}]`), [value])));
});
