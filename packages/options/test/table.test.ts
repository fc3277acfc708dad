import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { doubles } from "../generate/doubles.ts";
import { optionHelp } from "../generate/help.ts";
import { generated, root } from "../generate/files.ts";
import { fields, handedOn, initFlags, releaseFields, rows, type Option } from "../src/index.ts";

test("a flag, letter, variable, field or annotation stands for one option only", () => {
  assert.deepEqual(doubles(), []);
});

test("the default of each option is a value that its row allows", () => {
  const all: readonly (readonly [string, Option])[] = Object.entries(rows);
  for (const [name, { kind, default: value, choices, least = 0, most = Infinity }] of all) {
    if (kind === "choice")
      assert.ok(choices && (value === undefined || choices.includes(String(value))), name);
    else if (kind === "switch") assert.ok(value === undefined || typeof value === "boolean", name);
    else if (typeof value === "number") assert.ok(value >= least && value <= most, name);
  }
});

test("each option that an injection hands on is a duration with a flag and a variable", () => {
  const wanted = fields.filter((field) => field.handedOn);
  assert.ok(wanted.every(({ row }) => row.kind === "duration"));
  assert.deepEqual(
    handedOn.map(({ field }) => field),
    wanted.map(({ name }) => name),
  );
});

test("each field has the bounds, the choices or the form that its check needs", () => {
  for (const { name, row, least, most, pattern, longest, example } of [...fields, ...releaseFields]) {
    if (row.kind === "duration") assert.ok(least !== undefined && most !== undefined, name);
    else if (row.kind === "choice") assert.ok(row.choices, name);
    else if (row.kind === "text") assert.ok(pattern && longest && example, name);
    else assert.equal(row.kind, "switch", name);
  }
});

test("each init flag with choices has exactly two, and the first is the default", () => {
  const chosen = initFlags
    .map(({ name }) => rows[name])
    .filter(({ kind, decides }) => kind === "choice" && !decides);
  assert.ok(chosen.length > 0);
  for (const { choices = [], default: value } of chosen)
    assert.deepEqual([choices.length, choices[0]], [2, value]);
});

test("each line of the help fits a terminal of 120 columns", () => {
  assert.deepEqual(
    optionHelp()
      .split("\n")
      .filter((line) => line.length > 120),
    [],
  );
});

test("each generated file is what the table says", async () => {
  for (const [path, text] of await generated()) assert.equal(readFileSync(root + path, "utf8"), text, path);
});
