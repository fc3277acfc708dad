import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { markdown, inPage } from "../matrix/table/markdown.ts";
import { readRecorded } from "../matrix/table/recorded.ts";

const page = join(import.meta.dirname, "..", "..", "docs", "cluster.md");

it("the tables of docs/cluster.md say what the record says (npm run matrix:table -- --write)", async () => {
  const text = await readFile(page, "utf8");
  assert.equal(text, await inPage(text, markdown(await readRecorded())));
});

it("a difference between the tables and the record is seen", async () => {
  const text = await readFile(page, "utf8");
  const [first, ...others] = await readRecorded();
  assert.ok(first);
  const other = { ...first, terminations: first.terminations + 1 };
  assert.notEqual(text, await inPage(text, markdown([other, ...others])));
});
