import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { formatPage, pageWithin } from "../../../scripts/format-page.ts";
import { rules } from "../src/index.ts";
import { pageOf, tablesOf } from "./pages.ts";

const docs = join(import.meta.dirname, "../../../docs");
const update = process.env["UPDATE_DOCS"] === "1";

test("the folder docs/rules holds the page of each rule, and no other", async () => {
  for (const rule of rules) {
    const file = join(docs, "rules", `${rule.id}.md`);
    const page = await formatPage(pageOf(rule));
    if (update) writeFileSync(file, page);
    const written = existsSync(file) ? readFileSync(file, "utf8") : undefined;
    assert.equal(written, page, `${file}: UPDATE_DOCS=1 writes it anew`);
  }
  assert.deepEqual(
    globSync("rules/*.md", { cwd: docs }).sort(),
    rules.map(({ id }) => `rules/${id}.md`).sort(),
  );
});

test("the page docs/tools/audit.md lists the questions and the rules", async () => {
  const file = join(docs, "tools", "audit.md");
  let page = readFileSync(file, "utf8");
  for (const [name, table] of Object.entries(tablesOf(rules))) {
    page = await pageWithin(page, name, table);
  }
  if (update) writeFileSync(file, page);
  assert.equal(readFileSync(file, "utf8"), page, "UPDATE_DOCS=1 writes it anew");
});
