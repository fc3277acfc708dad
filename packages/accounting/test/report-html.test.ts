import assert from "node:assert/strict";
import { test } from "node:test";
import { account, htmlReport } from "../src/index.ts";
import { madeUp, madeUpComparison, shapes } from "./report-fixture.ts";

const results = madeUpComparison();
const page = htmlReport(results);

test("the report is one file that has no script and fetches nothing", () => {
  assert.doesNotMatch(page, /<script|<link|<img|@import|url\(|https?:/i);
  assert.ok(page.length < 1_000_000, `${page.length} bytes`);
});

test("the report closes every element in order, and quotes every attribute", () => {
  const open: string[] = [];
  const voids = new Set(["meta", "!doctype"]);
  for (const [, slash, name = "", attributes, empty] of page.matchAll(
    /<(\/?)([!a-z][a-z0-9]*)((?:\s+[\w:-]+="[^"<>]*"|\s+html)*)\s*(\/?)>/gi,
  )) {
    assert.ok(attributes !== undefined);
    if (slash) assert.equal(open.pop(), name);
    else if (!empty && !voids.has(name)) open.push(name);
  }
  assert.deepEqual(open, []);
  // What is left when all well-formed tags are taken away has no sharp bracket.
  const rest = page
    .replaceAll(/<style>[^]*?<\/style>/g, "")
    .replaceAll(/<(\/?)([!a-z][a-z0-9]*)((?:\s+[\w:-]+="[^"<>]*"|\s+html)*)\s*(\/?)>/gi, "");
  assert.doesNotMatch(rest, /[<>]/);
});

test("the report has a row per remedy, a section per remedy that ran, and pictures with words for those who cannot see them", () => {
  for (const [index, { remedy, skipped }] of results.remedies.entries()) {
    assert.ok(page.includes(`>${remedy}<`));
    assert.equal(page.includes(`<section id="remedy-${index}"`), skipped === undefined);
  }
  const pictures = [...page.matchAll(/<svg [^>]*>/g)].map(([tag]) => tag);
  assert.equal(pictures.length, 1 + 3 * 4 + 3 * 2);
  for (const tag of pictures) assert.match(tag, /role="img" aria-label="[^"]{30,}"/);
  assert.match(page, /ended by quiet; last sender stopped sending after/);
});

test("one of a kind is counted in the singular", () => {
  const one = account(madeUp(shapes.at(1)!, 3, 1), { description: "", seed: 1 });
  const single = htmlReport({ ...results, remedies: [one] });
  assert.match(single, />1 remedy, measured by/);
  assert.doesNotMatch(single, /\b1 (?:remedies|terminations|requests)\b/);
});

test("each picture scrolls by itself on a phone, and print keeps colours and the meanings of columns", () => {
  const pictures = page.match(/<svg /g)!.length;
  assert.equal(page.match(/<div class="picture" tabindex="0"><svg /g)?.length, pictures);
  assert.match(page, /@media print \{[^]*print-color-adjust: exact[^]*\.meanings::details-content/);
});

test("the mark of every lost request of a pictured termination shows its sentence on hover", () => {
  const one = account(madeUp(shapes.at(1)!, 3, 1), { description: "", seed: 1 });
  assert.ok(one.lost > 0);
  const marks = [
    ...htmlReport({ ...results, remedies: [one] }).matchAll(/class="lost"><title>(?:([\d,]+) lost here)?/g),
  ];
  assert.equal(
    marks.reduce((sum, [, many]) => sum + Number(many ?? 1), 0),
    one.lost,
  );
});

test("names and sentences from outside stay text in the report", () => {
  const [first, ...rest] = results.remedies;
  assert.ok(first);
  const evil = `<b onclick="alert(1)">&'`;
  const shown = htmlReport({
    ...results,
    settings: { [evil]: evil },
    remedies: [
      {
        ...first,
        remedy: evil,
        description: evil,
        lostRequests: first.lostRequests.map((lost) => ({ ...lost, sentence: evil, sender: evil })),
      },
      ...rest,
    ],
  });
  assert.ok(!shown.includes("<b onclick"));
  assert.ok(shown.includes("&lt;b onclick=&quot;"));
});

test("the report of a run without timelines, terminations or remedies is a page all the same", () => {
  const bare = results.remedies.map((one) => {
    const { timeline: _, ...rest } = one;
    return rest;
  });
  assert.ok(!htmlReport({ ...results, remedies: bare }).includes("<figure"));
  assert.match(htmlReport({ ...results, remedies: [] }), /No pod was terminated: nothing is proved\./);
  for (const html of [page, htmlReport({ ...results, remedies: bare })])
    assert.doesNotMatch(html, /NaN|undefined|Infinity/);
});
