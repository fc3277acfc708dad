import assert from "node:assert/strict";
import { test } from "node:test";
import { type RemedyResult, type Results, junitReport, markdownReport } from "../src/index.ts";
import { madeUpComparison } from "./report-fixture.ts";

const results = madeUpComparison();
const text = junitReport(results);

/** The elements in the order of their beginnings; fails where the text is not well-formed. */
function elements(xml: string): string[] {
  const open: string[] = [];
  const seen: string[] = [];
  const rest = xml
    .replace(/^<\?xml[^>]*\?>\n/, "")
    .replaceAll(
      /<(\/?)([a-z-]+)((?: [a-z]+="[^"<]*")*)(\/?)>/g,
      (_, closing: string, name: string, _attributes: string, empty: string) => {
        if (closing) assert.equal(open.pop(), name);
        else {
          seen.push(name);
          if (!empty) open.push(name);
        }
        return "";
      },
    );
  assert.deepEqual(open, []);
  assert.doesNotMatch(rest, /[<>]|&(?!(?:amp|lt|gt|quot);)/);
  return seen;
}

function caseOf(xml: string, name: string): string {
  return new RegExp(`<testcase [^>]*name="${name}"[^]*?</testcase>`).exec(xml)?.[0] ?? "";
}

test("the JUnit report has a test case per remedy: losses fail, and what could not be run is skipped", () => {
  const seen = elements(text);
  assert.equal(seen.filter((name) => name === "testcase").length, results.remedies.length);
  assert.match(
    caseOf(text, "nothing"),
    /<failure type="loses" message="\d+\+\d+ of [\d,]+ requests lost in 8 terminations">/,
  );
  assert.match(caseOf(text, "nothing"), /C1 stale route, listener closed/);
  assert.match(caseOf(text, "init"), /<skipped type="skipped" message="there is no lameduck-init/);
  assert.doesNotMatch(caseOf(text, "adaptive"), /<(failure|error|skipped)/);
  const failures = seen.filter((name) => name === "failure").length;
  assert.match(text, new RegExp(`<testsuites [^>]*failures="${failures}" errors="0"`));
});

test("the JUnit report tells pods killed at the end of their grace period as a failure, with the reason", () => {
  const message =
    /<failure type="overruns" message="8 of 8 terminations overran the grace period of 30.0 s and ended by SIGKILL/;
  assert.match(caseOf(text, "sleep-over-grace"), message);
});

test("the JUnit report has no failure for losses that are allowed", () => {
  const seen = elements(junitReport(results, { allowLoss: true }));
  assert.ok(!seen.includes("failure"));
});

const adaptive = results.remedies.find(({ remedy }) => remedy === "adaptive")!;
const only = (changes: Partial<RemedyResult>): Results => ({
  ...results,
  remedies: [{ ...adaptive, ...changes }],
});

test("the JUnit report tells what was not tested, or did not finish, as an error", () => {
  assert.match(
    junitReport(only({ untested: 3 })),
    /<error type="untested" message="no load went through 3 of 8 terminations">/,
  );
  assert.match(junitReport(only({ terminations: 0, each: [] })), /message="no pod was terminated"/);
  assert.match(
    junitReport(only({}), { unfinished: "not finished: 1 of 2 pods updated" }),
    /<error type="unfinished" message="not finished: 1 of 2 pods updated">/,
  );
});

test("a report stays valid XML, and a table stays a table, whatever a name contains", () => {
  const remedy = 'a <b> & "c" | `d`\u0000\uD800';
  elements(junitReport(only({ remedy })));
  const row = markdownReport(only({ remedy }))
    .split("\n")
    .find((line) => line.startsWith("| a"));
  assert.match(row ?? "", /^\| a \\<b\\> & "c" \\\| \\`d\\`/);
  assert.equal(row?.split(/(?<!\\)\|/).length, 11);
});

test("the Markdown report has the table, the advice and why requests were lost", () => {
  const markdown = markdownReport(results);
  assert.match(markdown, /^## lameduck lab\n\nShortest hold without a loss: adaptive/);
  assert.match(markdown, /^\| remedy \| pods \| lost .*\|\n\| --- \| ---: /m);
  assert.match(markdown, /^### Why requests were lost: nothing\n\n- \*\*\d+\*\* C\d stale route/m);
});
