import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { markdownTable, pageWithin } from "../../../scripts/format-page.ts";
import { anchorOf } from "../../../site/pages.ts";
import { serialiseResults, causes, type Results } from "../src/index.ts";
import { resultsJsonSchema } from "../src/model/results.ts";
import { madeUpComparison } from "./report-fixture.ts";
import { resultsOf } from "./results-of.ts";

const docs = new URL("../../../docs/", import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, docs), "utf8");

test("a document survives writing and reading", () => {
  const results = madeUpComparison();
  assert.deepEqual(resultsOf(serialiseResults(results)), results);
});

test("a document with a value of the wrong kind is not what the schema describes", () => {
  const { remedies, ...rest } = madeUpComparison();
  const wrong = { ...rest, remedies: [remedies.at(0), { ...remedies.at(1), lost: "many" }] };
  assert.throws(() => resultsOf(JSON.stringify(wrong)), /"remedies",\s+1,\s+"lost"/);
});

test("the schema in docs/reference/results.schema.json is what the document is checked by; UPDATE_DOCS=1 writes it", () => {
  const now = JSON.stringify(resultsJsonSchema(), undefined, 2);
  if (process.env["UPDATE_DOCS"]) writeFileSync(new URL("reference/results.schema.json", docs), now);
  assert.deepEqual(JSON.parse(read("reference/results.schema.json")), JSON.parse(now));
});

test("the page docs/reference/results.md explains every field, every event and every outcome", () => {
  const page = read("reference/results.md");
  for (const name of namesIn(resultsJsonSchema()))
    assert.ok(page.includes(`\`${name}\``), `${name} is not explained`);
});

test("the page docs/understand/causes.md lists and explains every cause; UPDATE_DOCS=1 writes the list", async () => {
  const page = read("understand/causes.md");
  const headings = Object.entries(causes).map(([cause, words]) => ({
    cause,
    words,
    heading: `${cause}: ${words}`,
  }));
  const rows = headings.map(({ cause, words, heading }) => [`[${cause}](#${anchorOf(heading)})`, words]);
  const now = await pageWithin(page, "causes", markdownTable(["cause", "name"], rows));
  if (process.env["UPDATE_DOCS"]) writeFileSync(new URL("understand/causes.md", docs), now);
  assert.equal(read("understand/causes.md"), now, "UPDATE_DOCS=1 writes it anew");
  for (const { heading } of headings) assert.ok(page.includes(`### ${heading}\n`), heading);
});

test("every number of a document is finite, so that JSON keeps it", () => {
  const results: Results = madeUpComparison();
  assert.doesNotMatch(serialiseResults(results), /: null/);
});

/** Names of fields and values in a JSON schema. */
function namesIn(schema: unknown): Set<string> {
  const names = new Set<string>();
  const visit = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    if ("properties" in node) for (const name of Object.keys(node.properties as object)) names.add(name);
    if ("const" in node && node.const !== "lameduck.results/v1") names.add(String(node.const));
    if ("enum" in node) for (const value of node.enum as string[]) if (!(value in causes)) names.add(value);
    for (const child of Object.values(node)) visit(child);
  };
  visit(schema);
  return names;
}
