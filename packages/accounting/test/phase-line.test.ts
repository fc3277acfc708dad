import assert from "node:assert/strict";
import { test } from "node:test";
import { phaseIn } from "../src/recording.ts";

const now = 1_700_000_000_000;

test("phase lines of the library are found among a server's own lines", () => {
  const line =
    '2026 app: {"lameduck":"phase","phase":"closing","at":1700000000123,"reason":"quiet","hold":4012}';
  assert.deepEqual(phaseIn(line, now), {
    phase: "closing",
    at: 1_700_000_000_123,
    reason: "quiet",
    detail: { hold: 4_012 },
  });
  assert.deepEqual(
    phaseIn('{"lameduck":"phase","phase":"lame-duck","at":1,"reason":"SIGTERM"}', now)?.detail,
    { reason: "SIGTERM" },
  );
});

test("a line of lameduck-init says the same, at the time of the container runtime's stamp or of its receipt", () => {
  const began = "lameduck-init: SIGTERM: holding until traffic has moved away, for 25s at most";
  assert.deepEqual(phaseIn(began, now), { phase: "lame-duck", at: now, detail: {} });
  const ended =
    "lameduck-init: held for 5.612s, acknowledged: floor 1.0, released by 5 of 5 senders at 5.1; 3 new connections and 14 kB received meanwhile; sending SIGTERM to 7";
  const explanation =
    "floor 1.0, released by 5 of 5 senders at 5.1; 3 new connections and 14 kB received meanwhile; sending SIGTERM to 7";
  assert.deepEqual(phaseIn(`2023-11-14T22:13:21.5Z ${ended}`, now), {
    phase: "closing",
    at: now + 1_500,
    reason: "acknowledged",
    detail: { explanation },
  });
  const forced =
    "tini: held for 200ms, forced (signal): floor; 0 new connections and 0 B received meanwhile, 0 open";
  assert.equal(phaseIn(forced, now)?.reason, "forced");
  assert.equal(phaseIn(`2023-11-14T22:13:21.5Z stderr F ${forced}`, 0)?.at, now + 1_500);
});

test("a line of lameduck-init with --log json says it in fields", () => {
  const line = (fields: string): string =>
    `{"time":1700000000.250,"name":"lameduck-init","level":"note","message":"held for 1s",${fields}}`;
  assert.deepEqual(phaseIn(line('"event":"hold-began","on":"preStop","most_ms":25000'), now), {
    phase: "lame-duck",
    at: now + 250,
    detail: { on: "preStop", most_ms: 25_000 },
  });
  assert.deepEqual(phaseIn(line('"event":"hold-ended","reason":"quiet","hold_ms":1000'), 0), {
    phase: "closing",
    at: now + 250,
    reason: "quiet",
    detail: { hold_ms: 1_000 },
  });
});

test("a hold that ends because the program has ended says nothing of a stop, nor does a dry run", () => {
  const because = "the program has ended by itself";
  const meanwhile = "0 new connections and 0 B received meanwhile";
  for (const dry of [
    `lameduck-init: held for 1s, quiet: floor; ${meanwhile}; would now send the signal (dry run)`,
    `lameduck-init: held for 1s, quiet: floor; ${meanwhile}; would send QUIT to 7`,
    '{"time":1,"name":"lameduck-init","message":"dry run: holding","event":"hold-began","on":"dry run"}',
    '{"time":1,"name":"lameduck-init","message":"held for 1s; would now send the signal (dry run)","event":"hold-ended","reason":"quiet"}',
  ])
    assert.equal(phaseIn(dry, now), undefined, dry);
  assert.equal(
    phaseIn(
      `lameduck-init: held for 1s, forced (${because}): floor; ${meanwhile}; nothing to stop any more`,
      now,
    ),
    undefined,
  );
  assert.equal(
    phaseIn(
      `{"time":1,"name":"lameduck-init","message":"forced (${because})","event":"hold-ended","reason":"forced"}`,
      now,
    ),
    undefined,
  );
});

test("no other line is a phase", () => {
  for (const other of [
    "",
    "{}",
    '"lameduck"',
    '{"lameduck":"phase",',
    '{"lameduck":"notice","at":1}',
    '{"lameduck":"phase","phase":"x","at":1}',
    '{"lameduck":"phase","phase":"serving","at":1}',
    '{"event":"hold-ended","reason":"quiet","time":1}',
    "app: held for 3s, waiting: for a lock",
    "db: connection: held for 12s, idle: 4 left",
    "pod web-1: lameduck-init: held for 1s, quiet: floor; 0 B received meanwhile",
    "the lock was held for 3s",
  ])
    assert.equal(phaseIn(other, now), undefined);
});
