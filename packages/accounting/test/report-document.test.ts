import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { parseResults, resultsJsonSchema, serialiseResults } from "../src/document/document.ts";
import { ResultsError } from "../src/document/errors.ts";
import { causes } from "../src/causes/cause.ts";
import type { Results } from "../src/model/results.ts";
import { madeUpComparison } from "./report-fixture.ts";

const docs = new URL("../../../docs/", import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, docs), "utf8");

function problem(text: string): ResultsError {
  try {
    parseResults(text, "run.json");
  } catch (error) {
    assert.ok(error instanceof ResultsError);
    return error;
  }
  throw new assert.AssertionError({ message: "it was accepted" });
}

test("a document survives writing and reading", () => {
  const results = madeUpComparison();
  assert.deepEqual(parseResults(serialiseResults(results), "run.json"), results);
});

test("fields of later releases stay in", () => {
  const results = { ...madeUpComparison(), later: 1 };
  assert.deepEqual(parseResults(JSON.stringify(results), "run.json"), results);
});

test("what is no results document is refused with a code, the place and what to do", () => {
  const results = madeUpComparison();
  const broken = problem("{");
  assert.equal(broken.code, "LAMEDUCK_RESULTS_NOT_JSON");
  assert.match(broken.message, /^run\.json: /);
  assert.ok(broken.remedy.length > 0);
  assert.equal(problem("[]").code, "LAMEDUCK_RESULTS_INVALID");
  assert.equal(problem("null").code, "LAMEDUCK_RESULTS_INVALID");
  const later = problem(JSON.stringify({ ...results, schema: "lameduck.results/v2" }));
  assert.equal(later.code, "LAMEDUCK_RESULTS_VERSION");
  assert.match(later.message, /"lameduck\.results\/v2", this release reads "lameduck\.results\/v1"/);
  const wrong = {
    ...results,
    remedies: [results.remedies.at(0), { ...results.remedies.at(1), lost: "many" }],
  };
  const invalid = problem(JSON.stringify(wrong));
  assert.equal(invalid.code, "LAMEDUCK_RESULTS_INVALID");
  assert.equal(invalid.place, "run.json: remedies[1].lost");
});

test("docs/results.schema.json is what the document is checked by; UPDATE_DOCS=1 writes it", () => {
  const now = JSON.stringify(resultsJsonSchema(), undefined, 2);
  if (process.env["UPDATE_DOCS"]) writeFileSync(new URL("results.schema.json", docs), now);
  assert.deepEqual(JSON.parse(read("results.schema.json")), JSON.parse(now));
});

test("docs/results.md explains every field, every event and every outcome", () => {
  const page = read("results.md");
  for (const name of namesIn(resultsJsonSchema()))
    assert.ok(page.includes(`\`${name}\``), `${name} is not explained`);
});

test("docs/causes.md explains every cause in its own words", () => {
  // Tables are padded by the formatter.
  const page = read("causes.md").replaceAll(/ +/g, " ");
  for (const [cause, words] of Object.entries(causes))
    for (const place of [`| ${cause} | ${words} |`, `### ${cause}: ${words}\n`])
      assert.ok(page.includes(place), place);
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
