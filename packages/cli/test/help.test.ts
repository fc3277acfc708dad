import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { stopReasons } from "@lameduck/accounting";
import { remedies } from "@lameduck/stage";
import { columns } from "../../accounting/src/report/table.ts";
import { commandsFor } from "../src/commands.ts";
import { errorCodes, remediesOf } from "../src/help/catalogue.ts";
import { explain } from "../src/help/command.ts";
import { meanings } from "../src/help/meanings.ts";
import { run } from "./running.ts";

const root = join(import.meta.dirname, "..", "..", "..");
/** What a command's help prints. Each is asked for once. */
const helps = new Map<string, Promise<string>>();
function helpOf(name: string): Promise<string> {
  const known = helps.get(name) ?? run(["help", name]).then(({ out }) => out);
  helps.set(name, known);
  return known;
}

const page = readFileSync(join(root, "docs/reference/errors.md"), "utf8");

test("every code of docs/reference/errors.md is explained, and no other", () => {
  const listed = [...page.matchAll(/^- `(LAMEDUCK_\w+)`/gm)].map(([, code = ""]) => code);
  const own = listed.filter((code) => !code.startsWith("LAMEDUCK_CLUSTER_") || code in meanings);
  assert.deepEqual([...new Set(own)].sort(), errorCodes().sort());
  assert.deepEqual(Object.keys(meanings).sort(), errorCodes().sort());
  for (const code of errorCodes())
    assert.match(
      explain(code),
      /^\w+\n\nMeaning:\n  [A-Z-].+\.\nRemedy:\n(  .+\.\n)+Exit code:\n  [24] \(.+\)\n$/i,
    );
});

test("a rule of the audit is explained as its page does, without its examples", async () => {
  const { code, out } = await run(["help", "no-lame-duck"]);
  assert.equal(code, 0);
  assert.match(out, /^no-lame-duck\n\n.+What to do:.+\n\nMore: docs\/rules\/no-lame-duck\.md\n$/s);
  assert.doesNotMatch(out, /apiVersion/);
  for (const topic of ["../lab", "", "."])
    assert.throws(() => explain(topic), { code: "LAMEDUCK_UNKNOWN_TOPIC" });
});

test("a code is found without its prefix, in any case", () => {
  for (const topic of ["bad_duration", "Bad-Duration", "lameduck_bad_duration"])
    assert.equal(explain(topic), explain("LAMEDUCK_BAD_DURATION"), topic);
});

test("a cause of loss is explained as its page does", async () => {
  const { code, out } = await run(["help", "c3"]);
  assert.equal(code, 0);
  assert.match(
    out,
    /^C3: keep-alive race\n\n.+\n\nWhat helps: (?:(?!\n#|\]\().)+\n\nMore: docs\/understand\/causes\.md\n$/s,
  );
  assert.match((await run(["help", "proxy"])).out, /^proxy: /);
});

test("every word of a table, every verdict and every remedy is explained", async () => {
  const heads = columns.map(({ title }) => title.replace(/ s$/, ""));
  const words = [...heads, "W_eff", "sleep-5", "lame duck", "lame-duck", "stop reason", ...stopReasons];
  const verdicts = ["no loss", "overruns", "loses", "untested", "skipped", "as shipped"];
  for (const word of [...words, ...verdicts, ...remedies.map(({ name }) => name)])
    assert.match(explain(word), /^.+\n\n[^]+\n\nMore: docs\/understand\/glossary\.md\n$/, word);
  const { code, out } = await run(["help", "lost", "per", "pod"]);
  assert.equal(code, 0);
  assert.match(out, /^lost per pod\n/);
});

test("rules, causes, Events, reasons and exit codes are listed, and each Event and reason is explained", async () => {
  for (const [list, line] of [
    ["rules", /^no-lame-duck {2,}\S/m],
    ["causes", /^C2 +stale route, pod gone$/m],
    ["events", /^DrainCapped {2,}The pod stopped/m],
    ["reasons", /^held-by-hook {2,}\S/m],
    ["exit codes", /^1 losses or findings$[^]*^129, 130 or 143 interrupted$/m],
  ] as const)
    assert.match((await run(["help", ...list.split(" ")])).out, line);
  assert.match(explain("143"), /^exit code 129, 130 or 143 interrupted$/m);
  assert.match(explain("5"), /^exit code 5 untested$/m);
  for (const name of ["DrainCapped", "held-by-hook", "own-lameduck"])
    assert.match(explain(name), new RegExp(`^${name}\\n\\n\\S`));
  assert.match(
    explain("hook-kept"),
    /stays; .*\nRemedy:\n {2}.*--replace-sleep .*existingSleep: replace .*@lameduck\/node .*\.\n$/,
  );
});

test("a command's help is the same in either way to ask for it", async () => {
  for (const name of ["rollout", "report"])
    assert.equal(await helpOf(name), (await run([name, "--help"])).out);
});

test("the help of every command has an example, exit codes and an address, and fits a terminal", async () => {
  const names = (await commandsFor(undefined, (code) => code)).map((one) => one.name());
  for (const name of names.filter((one) => !["init", "help"].includes(one))) {
    const out = await helpOf(name);
    assert.match(out, new RegExp(`\\nExamples:\\n {2}.*lameduck ${name}`), name);
    assert.match(out, /\nExit codes: 0 [^]+ More: docs\/\S+\n$/, name);
    assert.deepEqual(
      out.split("\n").filter((line) => line.length > 110),
      [],
      name,
    );
  }
});

test("a page is found by its path and by its last name, with .md and without, after commands and words", async () => {
  for (const [topic, title] of [
    ["docs/start/node.md", /^# /],
    ["docs/start/node", /^# /],
    ["start/node", /^# /],
    ["node", /^# /],
    ["no-lame-duck.md", /^# no-lame-duck\n/],
    ["why not sleep", /^# Why not/],
    ["why-not-sleep", /^# Why not/],
    ["lab", /^Usage: lameduck lab/],
    ["docs/tools/lab#images", /^# lameduck lab/],
  ] as const)
    assert.match((await run(["help", ...topic.split(" ")])).out, title, topic);
  assert.equal((await run(["help", "node"])).out, (await run(["help", "docs/start/node.md"])).out);
  assert.equal(
    (await run(["help", "results"])).out,
    "lameduck help docs/evidence/results.md\nlameduck help docs/reference/results.md\n",
  );
});

test("a word that is no topic leads to what has it in its name, its title or its explanation", () => {
  for (const [topic, ...lines] of [
    [
      "sleep",
      /^lameduck help sleep-N {2,}A preStop sleep of N seconds\.$/m,
      /docs\/understand\/why-not-sleep\.md/,
    ],
    ["preStop", /^lameduck help prestop-exceeds-grace /m, /^lameduck help hold /m],
    ["grace", /^lameduck help grace period /m, /^lameduck help C5 /m],
    ["502", /^lameduck help C1 {2}stale route, listener closed\n$/],
    ["JVM", /^lameduck help docs\/start\/any-software\.md /m],
  ] as const)
    for (const line of lines) assert.match(explain(topic), line, topic);
  for (const [, name = ""] of explain("grace").matchAll(/^lameduck help (?!docs)(\S.*?) {2}/gm))
    assert.match(explain(name), /\n\nMore: docs/, name);
  assert.throws(() => explain("no such word"), { code: "LAMEDUCK_UNKNOWN_TOPIC" });
});

test("a code that two say has the remedy of each", () => {
  assert.equal(remediesOf("LAMEDUCK_BAD_OPTION").length, 2);
});

test("lameduck-init says the remedies of the catalogue", () => {
  const source = readFileSync(join(root, "packages/init/src/decision/errors.c"), "utf8").replace(
    /"\s*\n\s*"/g,
    "",
  );
  for (const { of, remedy } of ["BAD_SIGNAL", "BAD_ADDRESS", "BAD_CHOICE", "MISSING_COMMAND"].flatMap(
    (code) => remediesOf(`LAMEDUCK_${code}`),
  ))
    assert.ok(of !== "lameduck-init" || source.includes(`"${remedy}"`), remedy);
});

test("help and remedies name nothing that only a clone of the repository has", async () => {
  const texts = errorCodes().map(explain);
  for (const command of ["lab", "rollout", "simulate", "init-binary", "completion"])
    texts.push(await helpOf(command));
  for (const text of texts) assert.doesNotMatch(text, /npm run .*-w |packages\//);
  for (const text of texts) {
    assert.doesNotMatch(text, /lameduck\.example/, "no address leads nowhere");
    for (const [page] of text.matchAll(/docs\/[\w/-]+\.md/g))
      assert.match((await run(["help", page])).out, /^# /, page);
  }
});

test("a page in an error has its address", async () => {
  const { err } = await run(["simulate", join(root, "package.json")]);
  assert.match(err, /docs\/tools\/simulate\.md/);
});
