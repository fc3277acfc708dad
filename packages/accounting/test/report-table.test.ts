import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { comparisonText, verdictOf, type RemedyResult, type Results } from "../src/index.ts";
import { lossless } from "../src/report/verdict.ts";
import { madeUpComparison } from "./report-fixture.ts";

const results = madeUpComparison();
const text = comparisonText(results);
const lines = text.split("\n");

test("the table fits 110 columns, and 80 as far as its figures allow", () => {
  for (const line of lines) assert.ok(line.length <= 110, line);
  const long = {
    ...results,
    remedies: results.remedies.map((one) => ({ ...one, remedy: one.remedy.repeat(9) })),
  };
  for (const line of comparisonText(long).split("\n").slice(0, 9)) assert.ok(line.length <= 110, line);
});

test("the table has a row per remedy with its figures and its verdict", () => {
  const row = (name: string): string => lines.find((line) => line.startsWith(`${name} `)) ?? "";
  assert.match(row("nothing"), / 8 +\d+\+\d+ +[\d.]+ \(\d+\.\.\d+\) .* loses$/);
  assert.match(row("adaptive"), / 8 +0 +0 \(<32%\) +0 +6\.\d\/6\.\d\/6\.\d .* 0 +no loss$/);
  assert.match(row("sleep-over-grace"), / 8 +overruns$/);
  assert.match(text, /init was skipped: there is no lameduck-init for this machine/);
});

test("the table ends with causes in words, and with the shortest hold that lost nothing", () => {
  assert.match(text, /C1 stale route, listener closed/);
  assert.match(text, /e\.g\. .*still chose web-\d/);
  assert.match(text, /Shortest hold without a loss: adaptive, 6\.\d s/);
  assert.deepEqual(
    lossless(results.remedies).map((one) => one.remedy),
    ["adaptive", "sleep-15"],
  );
});

test("the table names the sender from which most losses of a cause came", () => {
  const [first] = results.remedies;
  const [one] = first?.lostRequests ?? [];
  assert.ok(first && one);
  const said = (...senders: string[]): string => {
    const lost = senders.map((sender) => ({ ...one, sender, cause: "C3" as const }));
    return comparisonText({ ...results, remedies: [{ ...first, lost: lost.length, lostRequests: lost }] });
  };
  assert.match(said("node-1", "node-1", "node-2"), /3 {2}C3 keep-alive race, 2 of them from node-1$/m);
  assert.match(said("node-1", "node-2"), /2 {2}C3 keep-alive race$/m);
});

test("notes and causes name a program that brings Lameduck as its row does", () => {
  const [first] = results.remedies;
  assert.ok(first);
  const own = { ...first, ownLameduck: true as const, killed: 1, notSent: 5, starts: first.starts ?? [] };
  const said = comparisonText({ ...results, remedies: [own] });
  assert.match(said, /^as shipped /m);
  assert.match(said, /^as shipped: .* overran the grace period/m);
  assert.match(said, /^Why\n {2}as shipped$/m);
  assert.doesNotMatch(said, /^ *nothing(?::|$)/m);
});

test("a note names a preStop hook that failed, but not one that ended with the program that it stopped", () => {
  const [first] = results.remedies;
  assert.ok(first);
  const ended = { at: 1, pod: "web-1", container: "web", type: "pre-stop-ended", result: "failed" } as const;
  const said = (detail: string): string => {
    const timeline = { pods: [{ ...ended, detail }], senders: [] };
    return comparisonText({ ...results, remedies: [{ ...first, timeline }] }).replaceAll(/\s+/g, " ");
  };
  assert.match(
    said("exit code 127: no sleep"),
    /nothing: the preStop hook of web failed in 1 of \d+ terminations?, and the stop signal came at once\. web-1: exit code 127: no sleep\./,
  );
  assert.doesNotMatch(said("exit code 137"), /hook of web failed/);
});

test("the table has colours on a terminal only", () => {
  assert.ok(!text.includes("\u001B"));
  const pipe = new PassThrough() as unknown as NodeJS.WriteStream;
  assert.ok(!comparisonText(results, { stream: pipe }).includes("\u001B"));
  const terminal = Object.assign(new PassThrough(), {
    isTTY: true,
    getColorDepth: () => 8,
  }) as unknown as NodeJS.WriteStream;
  const forced = { ...process.env };
  // styleText lets the environment overrule the terminal.
  delete process.env["NO_COLOR"];
  delete process.env["NODE_DISABLE_COLORS"];
  try {
    assert.ok(comparisonText(results, { stream: terminal }).includes("\u001B[31mloses"));
  } finally {
    process.env = forced;
  }
});

test("the table tells what senders cut themselves apart, and blames no pod for it", () => {
  const first = results.remedies.find((one) => one.remedy === "nothing")!;
  const cut = first.lostRequests.map((lost) => ({ ...lost, cause: "proxy" as const }));
  const own = { ...first, lostRequests: cut, lostByCause: { proxy: cut.length } };
  assert.equal(verdictOf(own), "no loss");
  const said = comparisonText({ ...results, remedies: [own] });
  assert.match(said, new RegExp(`nothing: ${cut.length} more were cut by senders themselves`));
});

test("losses at new pods only are not blamed on the way of stopping", () => {
  const first = results.remedies.at(0)!;
  const lostRequests = first.lostRequests.map((lost) => ({ ...lost, cause: "C7" as const }));
  const early: RemedyResult = { ...first, lostRequests, lostByCause: { C7: lostRequests.length } };
  const text = (remedy: RemedyResult): string =>
    comparisonText({ ...results, remedies: [remedy] }, { width: 500 });
  assert.match(text(early), /What nothing lost went to new pods .*\(C7\).* a readinessProbe does\./);
  assert.doesNotMatch(text(first), /readinessProbe/);
});

test("the report says that a run without terminations proves nothing, and that a load was not sent", () => {
  const first = results.remedies.at(0)!;
  const idle: Results = {
    ...results,
    remedies: [{ ...first, terminations: 0, lost: 0, lostRequests: [], each: [] }],
  };
  assert.equal(verdictOf(idle.remedies.at(0)!), "untested");
  assert.match(comparisonText(idle), /No pod was terminated: nothing is proved\./);
  const starved: Results = {
    ...results,
    remedies: [{ ...first, notSent: 1_500, notSentBecause: { EMFILE: 1_500 } }],
  };
  assert.match(comparisonText(starved), /1,500 of [\d,]+ scheduled requests were not sent \(1,500 EMFILE\)/);
});

test("the interval is shown from ten terminations on, not from nine", () => {
  const first = results.remedies.at(0)!;
  const row = (n: number): string => {
    const each = Array.from({ length: n }, (_, index) => ({ ...first.each.at(0)!, lost: index }));
    const lostPerTermination = { mean: 4, low: 2, high: 6 };
    const one = { ...first, each, terminations: n, lostPerTermination };
    return (
      comparisonText({ ...results, remedies: [one] })
        .split("\n")
        .at(2) ?? ""
    );
  };
  assert.match(row(9), / 4\.0 \(0\.\.8\) /);
  assert.match(row(10), / 4\.0 \[2\.0, 6\.0\] /);
});

test("the report says after a bound which number of --rollouts gives a lower one", () => {
  const [first] = results.remedies.filter(({ lost, skipped }) => lost === 0 && skipped === undefined);
  assert.ok(first);
  const bound = { mean: 0, low: 0, high: 0.53, basis: "bound" } as const;
  const lossless = { ...first, terminations: 4, untested: 0, lostPerTermination: bound };
  const text = comparisonText({ ...results, settings: { rollouts: 1 }, remedies: [lossless] }).replaceAll(
    /\s+/g,
    " ",
  );
  assert.match(
    text,
    /0 \(<53%\) is the bound of 4 pods; without a loss --rollouts 15 \(60 pods\) <4\.9%, --rollouts 75 \(300 pods\) <1\.0%/,
  );
});
