import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { learn, optionsOf, parseConfig, type DrainOptions, type Observation } from "@lameduck/drain";
import { runVector } from "../../drain/test/vectors.ts";
import { program, run, runProgram } from "./running.ts";

const folder = mkdtempSync(join(tmpdir(), "lameduck-explain-"));
after(() => rmSync(folder, { recursive: true }));

function arrivals(sender: string, every: number, to: number): Observation[] {
  const count = Math.floor((to + 30_000) / every) + 1;
  return Array.from({ length: count }, (_, index) => ({
    type: "arrival",
    at: -30_000 + index * every,
    sender,
    kind: "connection",
  }));
}

/** A sender of four a second, and one of fifty, that stop 4 and 1 s after SIGTERM. */
const observations: readonly Observation[] = [
  ...arrivals("198.18.0.14", 250, 4_000),
  ...arrivals("<b>&198.18.0.15", 20, 1_000),
  { type: "termination", at: 0 },
];
const held = Math.ceil(
  runVector({ name: "", why: "", config: {}, observations, expect: { stop: 0, reason: "cap" } }).stop,
);

/** What a process would have recorded that asked every 100 ms and stopped then. */
function recording(held: number, options: DrainOptions = {}, ...others: readonly object[]): string {
  const config = optionsOf(parseConfig(options));
  const clock = { epoch: 1_790_000_000_000, unit: "ms" };
  const decisions = Array.from({ length: Math.ceil(held / 100) }, (_, index) => ({
    type: "decision",
    at: index * 100,
    waitingFor: index < 10 ? "floor" : "silence",
  }));
  const seen = [...observations, ...decisions, { type: "decision", at: held, reason: "quiet" }];
  return [
    { lameduck: "trace", version: 1, by: "lameduck-init", pid: 1, on: "SIGTERM", config, clock },
    ...others,
    ...seen.sort((a, b) => a.at - b.at),
    { type: "end", at: held, reason: "quiet", leftOut: 0 },
  ]
    .map((line) => `${JSON.stringify(line)}\n`)
    .join("");
}

const file = join(folder, "hold.jsonl");
writeFileSync(file, recording(held));

test("lameduck explain says why the hold ended in one line, shows the expected loss as a chart, and has a row for each sender", async () => {
  const { code, out, err } = await run(["explain", file]);
  assert.equal(code, 0, err);
  assert.match(
    out,
    /^lameduck-init, PID 1: SIGTERM at 2026-\d\d-\d\d .* UTC; policy adaptive, floor 1s, cap 25s, preStop 0s, loss budget 0.001\n/,
  );
  assert.match(
    out,
    /held [\d.]+ s, quiet: floor 1\.0, 198\.18\.0\.14 \(4\/s before, silent [\d.]+ s\) until [\d.]+\n/,
  );
  assert.match(out, /budget 0\.001 ┤█+/);
  const rows = out.split("\n").filter((line) => /^\S*198\.18/.test(line));
  assert.equal(rows.length, 2, out);
  assert.match(rows[0] ?? "", /^198\.18\.0\.14 +4\/s +17 +[\d.]+ s {2}[▁-█]+$/);
});

test("lameduck explain shows each sender's silence at the end of the hold, and one row with the arrivals of all senders not told apart", async () => {
  const once = Array.from({ length: 12 }, (_, index) => ({
    type: "arrival",
    at: 500 + index,
    sender: `198.18.1.${index}`,
    kind: "connection",
  }));
  const crowd = join(folder, "crowd");
  writeFileSync(crowd, recording(held, {}, ...once));
  const { out, err } = await run(["explain", crowd]);
  const silence = ((held - 4_000) / 1_000).toFixed(1);
  const row = new RegExp(`^198\\.18\\.0\\.14 +4/s +17 +${silence} s {2}`, "m");
  assert.match(out, row, err);
  assert.match(out, /^other senders +\S+\/s +12 +\d/m);
});

test("texts of a recording cannot control the terminal", async () => {
  const hostile = join(folder, "hostile");
  const escape = JSON.stringify("\u001b]0;title\u0007\u001b[2J");
  writeFileSync(hostile, recording(held).replaceAll('"quiet"', escape).replaceAll('"198.18.0.14"', escape));
  const { code, out, err } = await run(["explain", hostile]);
  assert.equal(code, 0, err);
  // oxlint-disable-next-line no-control-regex
  assert.doesNotMatch(out, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  assert.match(out, /\\u001b/);
});

test("the HTML page of lameduck explain is one file without script, with every sender's name made harmless", async () => {
  const page = join(folder, "hold.html");
  const { code, err } = await run(["explain", file, "--out", page]);
  assert.equal(code, 0, err);
  const html = readFileSync(page, "utf8");
  assert.match(html, /^<!doctype html>[^]*<svg [^]*<\/html>\n$/);
  assert.doesNotMatch(html, /<script|<b>|\bsrc=|\bhref=|NaN|undefined/);
  assert.match(html, /&lt;b&gt;&amp;198/);
  const lines = [...html.matchAll(/<polyline [^>]*stroke-dasharray="([^"]+)"/g)].map(([, dash]) => dash);
  assert.equal(new Set(lines).size, 2, "lines of senders differ without colours");
});

test("the JSON of lameduck explain has each moment of the hold and its senders", async () => {
  const { code, out, err } = await run(["explain", file, "--json", "-"]);
  assert.equal(code, 0, err);
  const data = JSON.parse(out) as {
    hold: number;
    waitedFor: { sender: string };
    moments: { at: number; expectedLoss: number; senders: { loss: number }[] }[];
  };
  assert.equal(data.hold, held);
  assert.equal(data.waitedFor.sender, "198.18.0.14");
  assert.equal(data.moments.length, 120);
  for (const { expectedLoss, senders } of data.moments)
    assert.ok(senders.every(({ loss }) => loss <= expectedLoss * (1 + 1e-9)));
});

test("lameduck explain reads a recording from stdin, and says where it was cut or differs from this release's decision", () => {
  const told = (input: string): string => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, "explain", "-"], {
      input,
      encoding: "utf8",
    });
    assert.equal(status, 0, stderr);
    return stdout;
  };
  assert.match(told(recording(3_000)), /This release's decision differs: .*would not have stopped yet/);
  assert.match(told(recording(held + 1_000)), /This release's decision differs: .*would end at \d+\.\d s/);
  assert.match(told(recording(held).slice(0, -40)), /The recording has no end: .*killed/);
  assert.doesNotMatch(told(recording(held)), /differs|no end|left out/);
});

test("lameduck explain leaves out of another release's recording what it does not know and what the pod had learnt, and says so", async () => {
  const learnt = learn(
    undefined,
    Array.from({ length: 40 }, () => 1 / 40),
  );
  const older = join(folder, "older");
  const rates = [1, 2].map((at) => ({ type: "rate", at, sender: "198.18.0.14", gaps: 30 }));
  const recorded = recording(held, { learnt }, ...rates);
  writeFileSync(older, recorded.replace(/"version":\d{2,}/, '"version":123'));
  const { code, out, err } = await run(["explain", older]);
  assert.equal(code, 0, err);
  assert.match(out, /^2 lines of another release or program left out, .*: rate\.$/m);
  assert.match(out, /^What the pod had learnt .* belongs to another release/m);
});

test("a hold that ends a millisecond before its cap does not differ, because the cap counts from the signal", async () => {
  const file = join(folder, "cap");
  const early = (cap: number): string => recording(1_999, { cap }).replaceAll('"quiet"', '"cap"');
  writeFileSync(file, early(2_000).replace(/\{"type":"decision","at":1999,"reason":"cap"\}\n/, ""));
  assert.doesNotMatch((await run(["explain", file])).out, /differs/);
  writeFileSync(file, early(3_000));
  assert.match((await run(["explain", file])).out, /differs: .*would not have stopped yet/);
});

test("lameduck explain reads a log that comes late to its end, and a byte order mark before it does not matter", async () => {
  const marked = join(folder, "marked");
  writeFileSync(marked, `\uFEFF${recording(held)}`);
  const late = ["-c", '(sleep 1; cat "$FILE") | "$@"', "sh", process.execPath, program, "explain", "-"];
  const piped = await runProgram("sh", late, { env: { ...process.env, FILE: marked } });
  assert.match(piped.out, /held [\d.]+ s, quiet: /, piped.err);
  const named = await run(["explain", marked]);
  assert.match(named.out, /held [\d.]+ s, quiet: /, named.err);
});

test("lameduck explain explains the first recording of a log, and warns that there are several", async () => {
  const log = join(folder, "log");
  writeFileSync(log, `listening\n${recording(held)}listening\n${recording(held + 1_000)}`);
  const { out, err } = await run(["explain", log]);
  assert.match(err, /^warning .*log: it has 2 recordings, and this is the first\n$/);
  assert.doesNotMatch(out, /differs/);
  assert.equal((await run(["explain", file])).err, "");
});

test("a file that is no recording is one line of error with place, code and remedy", async () => {
  const absent = await run(["explain", join(folder, "absent")]);
  assert.equal(absent.code, 2);
  assert.match(absent.err, /absent: no such file or directory \[LAMEDUCK_TRACE_UNREADABLE\]; /);
  const strange = join(folder, "strange");
  writeFileSync(strange, "listening\n");
  const other = await run(["explain", strange]);
  assert.equal(other.code, 2);
  assert.match(other.err, /strange: it has no line of a trace's header.*\[LAMEDUCK_TRACE_INVALID\]; /);
  const early = join(folder, "early");
  writeFileSync(early, recording(held).replace(/^.*"termination".*\n/m, ""));
  const before = await run(["explain", early]);
  assert.equal(before.code, 2);
  assert.match(before.err, /early: it ends before the termination.*\[LAMEDUCK_TRACE_INVALID\]; /);
  const odd = join(folder, "odd");
  writeFileSync(odd, recording(held).replace('"cap":25000', '"cap":-5'));
  const settings = await run(["explain", odd]);
  assert.equal(settings.code, 2);
  assert.match(settings.err, /odd:1: cap: -5 is negative \[LAMEDUCK_BAD_DURATION\]; /);
});
