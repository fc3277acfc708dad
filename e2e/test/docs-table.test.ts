import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { markdown, inPage } from "../matrix/table/markdown.ts";
import { readRecorded } from "../matrix/table/recorded.ts";

const page = join(import.meta.dirname, "..", "..", "docs", "evidence", "results.md");

it("the tables of docs/evidence/results.md say what the record says (npm run matrix:table -- --write)", async () => {
  const text = await readFile(page, "utf8");
  assert.equal(text, await inPage(text, markdown(await readRecorded())));
});

it("a difference between the tables and the record is seen", async () => {
  const text = await readFile(page, "utf8");
  const recorded = await readRecorded();
  const shown = recorded.find(({ remedy }) => remedy === "close");
  assert.ok(shown);
  const others = recorded.filter((row) => row !== shown);
  const other = { ...shown, terminations: shown.terminations + 1 };
  assert.notEqual(text, await inPage(text, markdown([other, ...others])));
});
