import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { formatPage } from "../../../scripts/format-page.ts";
import { rules } from "../src/index.ts";
import { pageOf, tableOf } from "./pages.ts";

const docs = join(import.meta.dirname, "../../../docs");
const update = process.env["UPDATE_DOCS"] === "1";

test("the folder docs/audit holds the page of each rule, and no other", async () => {
  for (const rule of rules) {
    const file = join(docs, "audit", `${rule.id}.md`);
    const page = await formatPage(pageOf(rule));
    if (update) writeFileSync(file, page);
    const written = existsSync(file) ? readFileSync(file, "utf8") : undefined;
    assert.equal(written, page, `${file}: UPDATE_DOCS=1 writes it anew`);
  }
  assert.deepEqual(
    globSync("audit/*.md", { cwd: docs }).sort(),
    rules.map(({ id }) => `audit/${id}.md`).sort(),
  );
});

test("the page docs/audit.md lists the rules", async () => {
  const file = join(docs, "audit.md");
  const page = readFileSync(file, "utf8");
  const marks = /(<!-- rules -->\n)[\s\S]*?(<!-- end of rules -->)/;
  const expected = await formatPage(
    page.replace(marks, (_, start: string, end: string) => `${start}\n${tableOf(rules)}\n\n${end}`),
  );
  if (update) writeFileSync(file, expected);
  assert.equal(readFileSync(file, "utf8"), expected, "UPDATE_DOCS=1 writes it anew");
});
