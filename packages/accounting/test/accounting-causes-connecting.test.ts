import assert from "node:assert/strict";
import { test } from "node:test";
import { account, type LostRequest, type RequestRecord } from "../src/index.ts";
import { causeOf, meta, only, pooled } from "./accounting-causes.ts";
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

test("the cause of a refusal after the listener closed is C1, and the sentence says who chose the pod when", () => {
  const lost = only(refused(12_100), {
    podEvents: podLife("web-1", { ...ordinary, exited: 14_000, gone: 14_500 }),
  });
  assert.equal(lost.cause, "C1");
  assert.equal(
    lost.sentence,
    "refused: node-1 still chose web-1 2.1 s after its deletion; web-1 had closed its listener 2.1 s before the failure",
  );
});

test("the cause of a proxy's 502 or 503 after the listener closed is C1, with or without the reason", () => {
  for (const status of [502, 503])
    for (const error of [{}, { error: "ECONNREFUSED" }])
      assert.equal(
        causeOf(request(11_000, { outcome: "bad-status", status, podKnownBy: "proxy", ...error })),
        "C1",
      );
});

test("the cause is C1 where a process ended and nobody watched its listener, which it closed", () => {
  const { closed: _, ...moments } = ordinary;
  const lost = only(refused(12_200), { podEvents: podLife("web-1", moments) });
  assert.equal(lost.cause, "C1");
  assert.match(lost.sentence, /web-1 had exited 201 ms before/);
});

test("the cause of a 503 that an app answers itself once it closes is C1", () => {
  const lost = only(request(10_500, { outcome: "bad-status", status: 503, podKnownBy: "header" }), {
    podEvents: podLife("web-1", { ...ordinary, closing: 10_100, closed: 11_900 }),
  });
  assert.equal(lost.cause, "C1");
  assert.match(lost.sentence, /^503: .*web-1 itself said so: it had begun to close 402 ms before/);
});

test("the cause is C1 without a deletion where a liveness restart closes the listener", () => {
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

test("the cause is C2 where a pod that is gone gives no connection or no answer", () => {
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

test("the cause is not C2 where a refusal comes before the pod is gone (C1)", () => {
  assert.equal(causeOf(refused(12_300)), "C1");
});

test("the cause of a reset within milliseconds on a kept-alive connection that the pod was closing is C3", () => {
  const lost = only(reset(10_020, { ...pooled, finished: 10_023 }));
  assert.equal(lost.cause, "C3");
  assert.equal(
    lost.sentence,
    "reset before the first byte: node-1 sent it to web-1 on a kept-alive connection 20 ms after the deletion, " +
      "3 ms before the reset; web-1 was closing its idle connections",
  );
});

test("the cause of a reset on a kept-alive connection without a termination is C3, and the sentence names the pod's own idle time-out", () => {
  const lost = only(reset(6_000, { ...pooled, finished: 6_002 }));
  assert.equal(lost.cause, "C3");
  assert.match(lost.sentence, /not being deleted.*by its own time-out/);
});

test("the cause is C3 where a new connection is led to a pod that has just reset one, though its sender had let go of it", () => {
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
    /^refused: node-1 had stopped sending to web-1 [\d.]+ s before, but web-1 had reset one of its connections 2\.0 s before: .* same local port/,
  );
  assert.equal(both(refused(30_000)).cause, "C2");
  assert.equal(causeOf(second, parts), "C1");
});

test("the sentence of a request to a pod's own address says so, and blames no proxy for being late", () => {
  const { sentence } = only(refused(11_000, { podKnownBy: "address", sender: "direct" }), {
    senderEvents: senderEvents("node-1", { "web-1": [1_050, 10_100] }),
  });
  assert.equal(
    sentence,
    "refused: direct goes to web-1 by its own address, 1.0 s after its deletion; web-1 had closed its listener 981 ms before the failure",
  );
});
