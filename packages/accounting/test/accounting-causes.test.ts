import assert from "node:assert/strict";
import { test } from "node:test";
import { account } from "../src/account.ts";
import type { Cause } from "../src/model/causes.ts";
import type { LostRequest, RunRecording } from "../src/model/results.ts";
import type { RequestRecord } from "../src/model/request.ts";
import {
  ordinary,
  podEvents,
  podLife,
  recording,
  refused,
  request,
  reset,
  senderEvents,
  traffic,
} from "./accounting-recording.ts";

const meta = { description: "", seed: 1 };

function only(record: RequestRecord, parts: Partial<RunRecording> = {}): LostRequest {
  const { lostRequests } = account(
    recording({ records: [...traffic(2_000, 9_900), record], ...parts }),
    meta,
  );
  assert.equal(lostRequests.length, 1);
  return lostRequests.at(0)!;
}

function causeOf(record: RequestRecord, parts: Partial<RunRecording> = {}): Cause {
  return only(record, parts).cause;
}

test("C1: refused after the listener closed, with who chose what and when", () => {
  const lost = only(refused(12_100), {
    podEvents: podLife("web-1", { ...ordinary, exited: 14_000, gone: 14_500 }),
  });
  assert.equal(lost.cause, "C1");
  assert.equal(
    lost.sentence,
    "refused: node-1 still chose web-1 2.1 s after its deletion; web-1 had closed its listener 2.1 s before",
  );
});

test("C1: the same as a proxy's 502 or 503, with or without the reason", () => {
  for (const status of [502, 503])
    for (const error of [{}, { error: "ECONNREFUSED" }])
      assert.equal(
        causeOf(request(11_000, { outcome: "bad-status", status, podKnownBy: "proxy", ...error })),
        "C1",
      );
});

test("C1: a process that ended without anybody watching its listener has closed it", () => {
  const { closed: _, ...moments } = ordinary;
  const lost = only(refused(12_200), { podEvents: podLife("web-1", moments) });
  assert.equal(lost.cause, "C1");
  assert.match(lost.sentence, /web-1 had exited 201 ms before/);
});

test("C11: another status than before, with what was answered then", () => {
  const lost = only(request(11_000, { outcome: "other-status", status: 404, error: "LEARNED_2XX_3XX" }), {
    podEvents: podLife("web-1", { ...ordinary, exited: 14_000, gone: 14_500 }),
  });
  assert.equal(lost.cause, "C11");
  assert.equal(
    lost.sentence,
    "404, where 2xx or 3xx was answered before: node-1 still chose web-1 1.0 s after its deletion",
  );
});

test("C1: an app that answers 503 itself once it closes", () => {
  const lost = only(request(10_500, { outcome: "bad-status", status: 503, podKnownBy: "header" }), {
    podEvents: podLife("web-1", { ...ordinary, closing: 10_100, closed: 11_900 }),
  });
  assert.equal(lost.cause, "C1");
  assert.match(lost.sentence, /^503: .*web-1 itself said so: it had begun to close 402 ms before/);
});

test("C1 without a deletion: a liveness restart closes the listener, too", () => {
  const events = podEvents("web-1", [
    [0, { type: "created" }],
    [500, { type: "listener-opened", port: 8080 }],
    [1_000, { type: "ready" }],
    [5_000, { type: "exited", container: "app", code: 1 }],
    [6_000, { type: "listener-opened", port: 8080 }],
  ]);
  const lost = only(refused(5_500), {
    podEvents: events,
    records: [...traffic(2_000, 4_900), refused(5_500)],
  });
  assert.equal(lost.cause, "C1");
  assert.equal(lost.termination, undefined);
  assert.match(lost.sentence, /which was not being deleted/);
});

test("C2: no connection, or no answer, once the pod is gone", () => {
  const lost = only(refused(13_000, { outcome: "unreachable", error: "EHOSTUNREACH", finished: 16_000 }));
  assert.equal(lost.cause, "C2");
  assert.match(
    lost.sentence,
    /^no connection after 3.0 s: node-1 still chose web-1 3.0 s .*gone for 500 ms$/,
  );
  assert.equal(causeOf(refused(13_000)), "C2");
  assert.equal(causeOf(request(13_000, { outcome: "bad-status", status: 504, finished: 16_000 })), "C2");
  const black = { outcome: "timeout", mode: "pooled", reused: true, connected: 3_000, received: 0 } as const;
  assert.equal(causeOf(request(12_600, { ...black, finished: 17_600 })), "C2");
});

test("not C2: before the pod is gone a refusal is C1", () => {
  assert.equal(causeOf(refused(12_300)), "C1");
});

const pooled = { mode: "pooled", reused: true, connected: 3_000 } as const;

test("C3: reset within milliseconds on a kept-alive connection that the pod was closing", () => {
  const lost = only(reset(10_020, { ...pooled, finished: 10_023 }));
  assert.equal(lost.cause, "C3");
  assert.equal(
    lost.sentence,
    "reset before the first byte: node-1 sent it to web-1 on a kept-alive connection 20 ms after the deletion, " +
      "3 ms before the reset; web-1 was closing its idle connections",
  );
});

test("C3: without a termination it is the pod's own idle time-out", () => {
  const lost = only(reset(6_000, { ...pooled, finished: 6_002 }));
  assert.equal(lost.cause, "C3");
  assert.match(lost.sentence, /not being deleted.*by its own time-out/);
});

test("C3: a new connection is led to a pod that has just reset one, though its sender had let go of it", () => {
  const first = reset(14_000, { ...pooled, finished: 14_003 });
  const second = refused(16_000);
  const parts = {
    podEvents: podLife("web-1", { ...ordinary, closed: 13_990, exited: 19_000, gone: 19_000 }),
  };
  const both = (record: RequestRecord): LostRequest =>
    account(
      recording({ records: [...traffic(2_000, 9_900), first, record], ...parts }),
      meta,
    ).lostRequests.at(-1)!;
  const lost = both(second);
  assert.equal(lost.cause, "C3");
  assert.match(
    lost.sentence,
    /^refused: node-1 had let go of web-1 [\d.]+ s before, but web-1 had reset one of its connections 2\.0 s before: .* same local port/,
  );
  assert.equal(both(refused(30_000)).cause, "C2");
  assert.equal(causeOf(second, parts), "C1");
});

test("not C3: what had been in flight for long was cut (C4), what was on a new connection was never accepted (C6)", () => {
  assert.equal(causeOf(reset(9_700, { ...pooled, kind: "slow", finished: 10_022 })), "C4");
  assert.equal(causeOf(reset(10_018, { finished: 10_022 })), "C6");
});

test("C4: in flight when the process ended, before or amid its answer", () => {
  const abrupt = podLife("web-1", { ...ordinary, closed: 10_030, exited: 10_030, gone: 10_200 });
  const slow = { ...pooled, kind: "slow", finished: 10_032 } as const;
  const lost = only(reset(9_800, slow), { podEvents: abrupt });
  assert.equal(lost.cause, "C4");
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

test("C4: an address that vanished with its pod leaves the caller waiting", () => {
  assert.equal(
    causeOf(request(11_900, { kind: "slow", outcome: "timeout", finished: 16_900, received: 0 })),
    "C4",
  );
});

test("C4 without a deletion: a crash", () => {
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

const overrun = podLife(
  "web-1",
  { ...ordinary, closed: 40_000, killed: 40_000, exited: 40_003, gone: 40_500 },
  { signal: "SIGKILL" },
);

test("C5: in flight when SIGKILL came at the end of the grace period", () => {
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

test("not C5: cut by an exit of its own accord, though late (C4), or refused after the kill (C1)", () => {
  const late = podLife("web-1", { ...ordinary, closed: 39_500, exited: 39_500, gone: 40_000 });
  const cut = request(39_000, { ...pooled, outcome: "truncated", finished: 39_502 });
  assert.equal(causeOf(cut, { podEvents: late, ended: 45_000 }), "C4");
  assert.equal(causeOf(refused(40_200), { podEvents: overrun, ended: 45_000 }), "C1");
});

test("C6: connected, never accepted, reset when the listener closed and the process lived on", () => {
  const lost = only(reset(9_990, { connected: 9_989, finished: 10_021 }));
  assert.equal(lost.cause, "C6");
  assert.match(lost.sentence, /had waited 31 ms to be accepted when web-1 closed its listener$/);
});

test("not C6: when the pod cut what it had accepted, too, or ended at that moment, it is C4", () => {
  const witness = reset(9_700, { ...pooled, kind: "slow", finished: 10_021 });
  const records = [...traffic(2_000, 9_900), witness, reset(9_990, { finished: 10_021 })];
  assert.deepEqual(account(recording({ records }), meta).lostByCause, { C4: 2 });
  const abrupt = podLife("web-1", { ...ordinary, exited: 10_030, gone: 10_200 });
  assert.equal(causeOf(reset(9_990, { finished: 10_021 }), { podEvents: abrupt }), "C4");
});

const rollout = [
  ...podLife("web-1", ordinary),
  ...podLife("web-2", { created: 8_000, opened: 9_000, ready: 9_500 }),
];
const both = senderEvents("node-1", { "web-1": [1_050, 13_000], "web-2": [8_500] });

test("C7: refused by a new pod that does not listen yet", () => {
  const lost = only(refused(8_600, { pod: "web-2" }), { podEvents: rollout, senderEvents: both });
  assert.equal(lost.cause, "C7");
  assert.equal(
    lost.sentence,
    "refused: node-1 already chose web-2, which opened its listener only 399 ms later (created 601 ms before)",
  );
});

test("C7: listening and not ready, or ready and not able to answer yet", () => {
  const unavailable = { pod: "web-2", outcome: "bad-status", status: 503 } as const;
  assert.equal(causeOf(request(9_200, unavailable), { podEvents: rollout, senderEvents: both }), "C7");
  const records = [request(9_700, unavailable), ...traffic(9_900, 15_000, { pod: "web-2" })];
  const lost = only(records.at(0)!, { podEvents: rollout, senderEvents: both, records });
  assert.equal(lost.cause, "C7");
  assert.match(lost.sentence, /answered its first request only \d+ ms later/);
});

test("not C7: no request of the run tells its pod, so that a pod without answers is nothing special", () => {
  const unnamed = (record: RequestRecord): RequestRecord => {
    const { pod: _, podKnownBy: __, ...rest } = record;
    return rest;
  };
  const exits = podLife("web-1", { created: 0, opened: 500, ready: 1_000, deleted: 10_000, exited: 10_020 });
  const lost = unnamed(refused(9_990));
  const records = [...traffic(2_000, 9_900).map(unnamed), lost];
  assert.notEqual(only(lost, { podEvents: exits, records }).cause, "C7");
});

test("not C7: a pod that answered before is overloaded (C8), one that was deleted has left (C1)", () => {
  const records = [
    ...traffic(9_600, 9_900, { pod: "web-2" }),
    request(9_950, { pod: "web-2", outcome: "bad-status", status: 503 }),
  ];
  assert.equal(only(records.at(-1)!, { podEvents: rollout, senderEvents: both, records }).cause, "C8");
  assert.equal(causeOf(refused(10_500), { podEvents: rollout, senderEvents: both }), "C1");
});

test("C8: a healthy pod that answers too late, with its queue", () => {
  const stuck = Array.from({ length: 40 }, (_, i) =>
    request(5_000 + i, { outcome: "timeout", finished: 10_000 - 40 + i, received: 0 }),
  );
  const { lostRequests, lostByCause } = account(
    recording({ records: [...traffic(2_000, 5_000), ...stuck] }),
    meta,
  );
  assert.deepEqual(lostByCause, { C8: 40 });
  assert.match(
    lostRequests.at(-1)!.sentence,
    /^timed out after 5.0 s: web-1 was serving and not being deleted, with 39 requests in flight when it was sent/,
  );
  assert.equal(
    causeOf(refused(5_000, { outcome: "unreachable", error: "ETIMEDOUT", finished: 8_000 })),
    "C8",
  );
});

test("C9: a sender left without an endpoint", () => {
  const empty = [
    ...senderEvents("ingress-1", { "web-1": [1_050, 11_000] }),
    { at: 11_000, sender: "ingress-1", type: "empty" } as const,
    { at: 14_000, sender: "ingress-1", type: "filled" } as const,
  ];
  const {
    pod: _,
    podKnownBy: __,
    ...unsent
  } = request(12_000, {
    sender: "ingress-1",
    outcome: "bad-status",
    status: 503,
  });
  const lost = only(unsent, { senderEvents: empty });
  assert.equal(lost.cause, "C9");
  assert.equal(lost.pod, undefined);
  assert.equal(lost.sentence, "503: ingress-1 had no endpoint left, for 1.0 s already");
  assert.equal(causeOf(unsent, { senderEvents: empty.filter((event) => !("pod" in event)) }), "C9");
  // Where the sender does not say that it is empty, its choices do.
  assert.equal(causeOf(unsent, { senderEvents: empty.filter((event) => "pod" in event) }), "C9");
});

test("not C9: the sender has an endpoint again; then the time tells the pod, and says so", () => {
  const { pod: _, podKnownBy: __, ...unsent } = refused(10_500, { sender: "ingress-1" });
  const lost = only(unsent, { senderEvents: senderEvents("ingress-1", { "web-1": [1_050, 13_000] }) });
  assert.equal(lost.cause, "C1");
  assert.equal(lost.pod, "web-1");
  assert.equal(lost.podKnownBy, "time");
  assert.match(lost.sentence, /\(pod inferred from the time\)$/);
});

test("C10: what the generator could not send is counted apart and blames no pod", () => {
  const { sent: _, ...unsent } = request(10_500, { outcome: "not-sent", error: "EMFILE" });
  const ports = refused(10_600, { outcome: "unreachable", error: "EADDRNOTAVAIL" });
  const result = account(
    recording({ records: [...traffic(2_000, 9_900), unsent, ports], scheduled: 90 }),
    meta,
  );
  assert.equal(result.lost, 0);
  assert.equal(result.notSent, 90 - 79);
  assert.deepEqual(result.notSentBecause, { EMFILE: 1, EADDRNOTAVAIL: 1, missing: 9 });
});

test("proxy: what a sender cut itself is not the pod's doing", () => {
  const severed = [
    ...senderEvents("node-1", { "web-1": [1_050, 11_000] }),
    { at: 11_000, sender: "node-1", type: "severed", pod: "web-1", connections: 12 } as const,
  ];
  const serving = podLife("web-1", { ...ordinary, closed: 15_000, exited: 15_100, gone: 15_200 });
  const lost = only(
    request(10_900, { ...pooled, outcome: "truncated", finished: 11_000, endedBySender: true }),
    {
      podEvents: serving,
      senderEvents: severed,
    },
  );
  assert.equal(lost.cause, "proxy");
  assert.match(lost.sentence, /node-1 severed 12 connections to web-1 as it let go of it$/);
  assert.equal(lost.termination, undefined, "no pod is to blame");
  const reloaded = [
    ...senderEvents("node-1", { "web-1": [1_050] }),
    { at: 5_000, sender: "node-1", type: "reloaded" } as const,
  ];
  assert.equal(
    causeOf(reset(4_995, { ...pooled, finished: 5_010 }), { podEvents: serving, senderEvents: reloaded }),
    "proxy",
  );
  const leaving = [
    ...senderEvents("node-1", { "web-1": [1_050] }),
    { at: 5_000, sender: "node-1", type: "reloaded", until: 6_000 } as const,
  ];
  assert.equal(
    causeOf(reset(5_100, { ...pooled, finished: 6_400 }), { podEvents: serving, senderEvents: leaving }),
    "proxy",
    "sent while the processes of before the reload were leaving, read later",
  );
});

test("not proxy: a pod that ended while its sender reloaded", () => {
  const reloaded = [
    ...senderEvents("node-1", { "web-1": [1_050] }),
    { at: 12_010, sender: "node-1", type: "reloaded" } as const,
  ];
  assert.equal(causeOf(reset(11_500, { ...pooled, finished: 12_000 }), { senderEvents: reloaded }), "C4");
});

test("unknown: what nothing explains is said to be so", () => {
  const lost = only(request(5_000, { outcome: "bad-status", status: 500 }));
  assert.equal(lost.cause, "unknown");
  assert.equal(
    lost.sentence,
    "500: node-1 chose web-1, which was not being deleted; nothing in the timeline explains it",
  );
  assert.equal(causeOf(reset(5_000, { finished: 5_400 })), "unknown");
  assert.equal(causeOf(refused(5_000)), "unknown");
  assert.equal(causeOf(refused(5_000, { pod: "another" })), "unknown");
});

test("a name that comes back is another life: its refusals belong to the new pod, or to the old one while the sender has not let go", () => {
  const twice = [
    ...podLife("web-0", ordinary),
    ...podLife("web-0", { created: 12_600, opened: 14_000, ready: 14_500 }),
  ];
  const late = senderEvents("node-1", { "web-0": [1_050, 13_000] });
  const early = [
    ...senderEvents("node-1", { "web-0": [1_050, 11_000] }),
    { at: 13_200, sender: "node-1", type: "added", pod: "web-0" } as const,
  ];
  const records = traffic(2_000, 9_900, { pod: "web-0" });
  const stale = refused(12_800, { pod: "web-0" });
  assert.equal(
    only(stale, { podEvents: twice, senderEvents: late, records: [...records, stale] }).cause,
    "C2",
  );
  const hasty = refused(13_500, { pod: "web-0" });
  assert.equal(
    only(hasty, { podEvents: twice, senderEvents: early, records: [...records, hasty] }).cause,
    "C7",
  );
});
