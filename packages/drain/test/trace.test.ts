import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { Drain, DrainError, optionsOf, parseConfig, parseTrace, replay, timelineText } from "../src/index.ts";
import { type DecisionVector, expandVector } from "./vectors.ts";

const folder = new URL("../vectors/", import.meta.url);
const vectors = readdirSync(folder)
  .sort()
  .flatMap((file) => JSON.parse(readFileSync(new URL(file, folder), "utf8")) as DecisionVector[]);

/** The trace that a process would write that saw this: asked after each observation and whenever a wait is over. */
function traceOf(vector: DecisionVector): string {
  const config = parseConfig(vector.config);
  const drain = new Drain(config);
  const observations = expandVector(vector);
  let taken = 0;
  let upcoming = observations[taken];
  const header = {
    lameduck: "trace",
    version: 1,
    by: "test",
    pid: 1,
    on: "SIGTERM",
    clock: { epoch: 0, unit: "ms" },
    config: optionsOf(config),
  };
  const lines: unknown[] = [header];
  for (let now = upcoming?.at ?? 0; ;) {
    for (; upcoming && upcoming.at <= now; upcoming = observations[++taken]) {
      drain.observe(upcoming);
      lines.push(upcoming);
    }
    const decision = drain.decide(now);
    const { stop } = decision;
    lines.push({
      type: "decision",
      at: now,
      ...(stop ? { reason: decision.reason } : { waitingFor: decision.waitingFor }),
    });
    if (stop) {
      lines.push({ type: "end", at: now, reason: decision.reason, leftOut: 0 });
      return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    }
    now = Math.min(upcoming?.at ?? Infinity, decision.until);
  }
}

for (const vector of vectors.filter(({ config }) => config.learnt === undefined))
  test(`a hold replayed from its trace ends as recorded: ${vector.name}`, () => {
    const trace = parseTrace(traceOf(vector), "trace");
    const { stop, reason } = replay(trace);
    assert.equal(reason, vector.expect.reason);
    assert.ok(Math.abs(stop! - vector.expect.stop) <= 1, `stopped at ${stop}`);
    assert.equal(trace.end?.at, stop);
  });

const steady = (sender: string, every: number, to: number): DecisionVector["observations"] => [
  { type: "arrival", at: -30_000, sender, kind: "connection", every, to },
];

const slowest: DecisionVector = {
  name: "",
  why: "",
  config: {},
  observations: [
    ...steady("198.18.0.14", 250, 4_000),
    ...steady("198.18.0.15", 20, 1_000),
    { type: "termination", at: 0 },
  ],
  expect: { stop: 0, reason: "cap" },
};

test("the explanation of a hold says which sender it waited for, with its rate, its silence and until when", () => {
  const { timeline, length } = replay(parseTrace(traceOf(slowest), "trace"));
  assert.equal(timeline.sender?.sender, "198.18.0.14");
  const said = /^floor 1\.0, 198\.18\.0\.14 \(4\/s before, silent (\d\.\d) s\) until (\d\.\d)$/.exec(
    timelineText(timeline),
  );
  assert.ok(said, timelineText(timeline));
  assert.equal(said[2], (length / 1_000).toFixed(1));
  assert.equal(said[1], ((length - 4_000) / 1_000).toFixed(1));
});

test("what the senders are expected to send adds up to the expected loss", () => {
  const { moments } = replay(parseTrace(traceOf(slowest), "trace"), 50);
  assert.equal(moments.length, 50);
  for (const { expectedLoss, pendingSenders } of moments) {
    const sum = pendingSenders.reduce((total, { loss }) => total + loss, 0);
    assert.ok(Math.abs(sum - expectedLoss) <= 1e-9 + 1e-6 * expectedLoss, `${sum}, not ${expectedLoss}`);
  }
  assert.ok(Number(moments.at(0)?.expectedLoss) > Number(moments.at(-1)?.expectedLoss));
});

test("the explanation of a hold that ended at the cap says what it was still waiting for", () => {
  const busy = { ...slowest, observations: [...steady("a", 100, 90_000), slowest.observations.at(-1)!] };
  assert.match(
    timelineText(replay(parseTrace(traceOf(busy), "trace")).timeline),
    /^floor 1\.0, still waiting for a \(10\/s before, silent 0\.\d s\)$/,
  );
});

test("the explanation of a hold that ended at the cap names every condition that was not met", () => {
  const observations: DecisionVector["observations"] = [
    ...steady("a", 300, 0),
    { type: "termination", at: 0 },
    { type: "arrival", at: 100, sender: "a", kind: "request", every: 300, to: 90_000 },
    { type: "in-flight", at: 20_000, change: 1 },
  ];
  const { timeline } = replay(parseTrace(traceOf({ ...slowest, observations }), "trace"));
  assert.match(
    timelineText(timeline),
    /^floor 1\.0, .* still waiting for requests in flight and requests on older connections$/,
  );
});

test("the end of the floor is told by its own time, however late the process noticed", () => {
  const late = traceOf(slowest).replaceAll(
    /^\{"type":"decision","at":1000,/gm,
    '{"type":"decision","at":1600,',
  );
  assert.match(timelineText(replay(parseTrace(late, "trace")).timeline), /^floor 1\.0, /);
});

test("the explanation of a recording without an end says what was waited for when the recording was cut", () => {
  const lines = traceOf(slowest).split("\n");
  const cut = lines.filter((line) => !/"(?:decision|end)"/.test(line)).join("\n");
  assert.match(timelineText(replay(parseTrace(cut, "trace")).timeline), /^still waiting for 198\.18\.0\.14 /);
});

test("a single sender that came once is named in the explanation", () => {
  const observations: DecisionVector["observations"] = [
    { type: "watching", at: -30_000 },
    { type: "arrival", at: -5_000, sender: "198.18.0.14", kind: "connection" },
    { type: "termination", at: 0 },
  ];
  const { timeline } = replay(parseTrace(traceOf({ ...slowest, observations }), "trace"));
  assert.equal(timeline.sender?.sender, "198.18.0.14");
});

test("a trace that was cut, or stands among lines of a log, is read as far as it goes", () => {
  const whole = traceOf(slowest);
  const lines = whole.split("\n");
  const noisy = lines.map((line) => `listening\n${line}\n[1, 2]`).join("\n");
  assert.deepEqual(parseTrace(noisy, "trace"), parseTrace(whole, "trace"));
  const cut = parseTrace(whole.slice(0, -60), "trace");
  assert.equal(cut.end, undefined);
  assert.ok(replay(cut).length > 1_000);
});

test("a long trace without an end is replayed", () => {
  const [header = "", ...rest] = traceOf(slowest).split("\n");
  const arrival = '{"type":"arrival","at":-1,"sender":"a","kind":"connection"}';
  const lines = [header, ...Array<string>(200_000).fill(arrival), ...rest.slice(0, -2)];
  assert.ok(replay(parseTrace(lines.join("\n"), "trace")).length > 1_000);
});

test("settings that were rounded are replayed", () => {
  const [header = "", ...rest] = traceOf(slowest).split("\n");
  const { config, ...others } = JSON.parse(header) as { config: object };
  const recorded = { cap: 666.667, grace: 9_666.667, prestop: 9_000, floor: 9_000 };
  const first = JSON.stringify({ ...others, config: { ...config, ...recorded } });
  assert.ok(replay(parseTrace([first, ...rest].join("\n"), "trace")).reason);
});

test("a text that is no trace, has another version or was changed is refused with its place", () => {
  const refused = (text: string, code: string, place: string): void =>
    assert.throws(
      () => parseTrace(text, "file"),
      (error: DrainError) => error.code === code && error.place === place,
    );
  const [header = "", ...rest] = traceOf(slowest).split("\n");
  refused("", "LAMEDUCK_TRACE_INVALID", "file");
  refused(header.replace('"version":1', '"version":2'), "LAMEDUCK_TRACE_VERSION", "file:1");
  refused([header, '{"type":"arrival","at":"1"}', ...rest].join("\n"), "LAMEDUCK_TRACE_INVALID", "file:2");
  assert.deepEqual(parseTrace([header, '{"type":"later","at":1}', ...rest].join("\n"), "file").unknown, [
    "later",
  ]);
});

test("any text is read or refused, and a trace that is read is replayed or refused", () => {
  const kinds = ["arrival", "forgotten", "settled", "share", "in-flight", "decision", "end"];
  const line = fc.oneof(
    fc.json(),
    fc.string(),
    fc
      .record(
        {
          type: fc.constantFrom(...kinds, "termination", "__proto__"),
          at: fc.oneof(fc.integer({ min: -1e5, max: 1e5 }), fc.double()),
          told: fc.integer({ min: -1e5, max: 1e5 }),
          from: fc.integer({ min: -1e5, max: 1e5 }),
          sender: fc.constantFrom("a", "b", ""),
          kind: fc.constantFrom("connection", "request"),
          change: fc.integer({ min: -3, max: 3 }),
          reason: fc.constantFrom("quiet", "cap"),
          waitingFor: fc.constantFrom("silence", "floor"),
          leftOut: fc.nat(),
        },
        { requiredKeys: ["type", "at"] },
      )
      .map((value) => JSON.stringify(value)),
  );
  const header = traceOf(slowest).split("\n", 1)[0];
  fc.assert(
    fc.property(fc.array(line, { maxLength: 40 }), fc.boolean(), (lines, headed) => {
      try {
        const { timeline, moments } = replay(
          parseTrace([...(headed ? [header] : []), ...lines].join("\n"), "x"),
          3,
        );
        assert.ok(moments.every(({ expectedLoss }) => expectedLoss >= 0));
        timelineText(timeline);
      } catch (error) {
        assert.ok(error instanceof DrainError, String(error));
      }
    }),
    { numRuns: 500 },
  );
});
