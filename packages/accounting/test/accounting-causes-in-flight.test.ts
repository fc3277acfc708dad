import assert from "node:assert/strict";
import { test } from "node:test";
import { account } from "../src/index.ts";
import { causeOf, meta, only, pooled } from "./accounting-causes.ts";
import {
  ordinary,
  podEvents,
  podLife,
  recording,
  refused,
  request,
  reset,
  traffic,
} from "./accounting-recording.ts";

const overrun = podLife(
  "web-1",
  { ...ordinary, closed: 40_000, killed: 40_000, exited: 40_003, gone: 40_500 },
  { signal: "SIGKILL" },
);

test("the cause is not C3 where a request had been in flight for long (C4), or was never accepted on a new connection (C6)", () => {
  assert.equal(causeOf(reset(9_700, { ...pooled, kind: "slow", finished: 10_022 })), "C4");
  assert.equal(causeOf(reset(10_018, { finished: 10_022 })), "C6");
});

test("the cause of a request in flight when the process ended is C4, before or amid its answer", () => {
  const abrupt = podLife("web-1", { ...ordinary, closed: 10_030, exited: 10_030, gone: 10_200 });
  const slow = { ...pooled, kind: "slow", finished: 10_032 } as const;
  const lost = only(reset(9_800, slow), { podEvents: abrupt });
  assert.equal(lost.cause, "C4");
  assert.match(
    lost.sentence,
    /: node-1 sent it to web-1 on a kept-alive connection 200 ms before the deletion and it /,
  );
  assert.match(lost.sentence, /in flight for 232 ms when web-1 exited \(code 0\)$/);
  assert.equal(
    causeOf(request(9_800, { ...slow, outcome: "truncated", received: 10_000 }), { podEvents: abrupt }),
    "C4",
  );
  assert.equal(
    causeOf(request(9_800, { ...slow, outcome: "bad-status", status: 502 }), { podEvents: abrupt }),
    "C4",
  );
});

test("the cause is C4 where an address vanished with its pod and the caller waits on", () => {
  assert.equal(
    causeOf(request(11_900, { kind: "slow", outcome: "timeout", finished: 16_900, received: 0 })),
    "C4",
  );
});

test("the cause is C4 without a deletion where the process crashed", () => {
  const crash = [
    ...podLife("web-1", { created: 0, opened: 500, ready: 1_000 }),
    ...podEvents("web-1", [[5_000, { type: "crashed", container: "app", detail: "SIGSEGV" }]]),
  ];
  const lost = only(reset(4_990, { ...pooled, finished: 5_001 }), {
    podEvents: crash,
    records: [...traffic(2_000, 4_900), reset(4_990, { ...pooled, finished: 5_001 })],
  });
  assert.equal(lost.cause, "C4");
  assert.match(lost.sentence, /when web-1 crashed$/);
});

test("the cause of a request in flight when SIGKILL came at the end of the grace period is C5", () => {
  const lost = only(request(39_000, { ...pooled, kind: "large", outcome: "truncated", finished: 40_005 }), {
    podEvents: overrun,
    ended: 45_000,
  });
  assert.equal(lost.cause, "C5");
  assert.match(lost.sentence, /SIGKILL ended web-1 when the grace period of 30.0 s was over$/);
  assert.equal(
    causeOf(reset(39_999, { ...pooled, finished: 40_001 }), { podEvents: overrun, ended: 45_000 }),
    "C5",
  );
});

test("the cause is not C5 where the pod exited of its own accord (C4), or refused after the kill (C1)", () => {
  const late = podLife("web-1", { ...ordinary, closed: 39_500, exited: 39_500, gone: 40_000 });
  const cut = request(39_000, { ...pooled, outcome: "truncated", finished: 39_502 });
  assert.equal(causeOf(cut, { podEvents: late, ended: 45_000 }), "C4");
  assert.equal(causeOf(refused(40_200), { podEvents: overrun, ended: 45_000 }), "C1");
});

test("the cause of a connection that was never accepted, and reset when the listener closed while the process lived on, is C6", () => {
  const lost = only(reset(9_990, { connected: 9_989, finished: 10_021 }));
  assert.equal(lost.cause, "C6");
  assert.match(lost.sentence, /had waited 31 ms to be accepted when web-1 closed its listener$/);
});

test("the cause is not C6 but C4 where the pod cut what it had accepted, too, or ended at that moment", () => {
  const witness = reset(9_700, { ...pooled, kind: "slow", finished: 10_021 });
  const records = [...traffic(2_000, 9_900), witness, reset(9_990, { finished: 10_021 })];
  assert.deepEqual(account(recording({ records }), meta).lostByCause, { C4: 2 });
  const abrupt = podLife("web-1", { ...ordinary, exited: 10_030, gone: 10_200 });
  assert.equal(causeOf(reset(9_990, { finished: 10_021 }), { podEvents: abrupt }), "C4");
});
