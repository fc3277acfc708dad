import assert from "node:assert/strict";
import { test } from "node:test";
import { account, type RequestRecord } from "../src/index.ts";
import { causeOf, meta, only, pooled } from "./accounting-causes.ts";
import {
  type Moments,
  ordinary,
  podLife,
  recording,
  refused,
  request,
  reset,
  senderEvents,
  traffic,
} from "./accounting-recording.ts";

const rollout = [
  ...podLife("web-1", ordinary),
  ...podLife("web-2", { created: 8_000, opened: 9_000, ready: 9_500 }),
];

const both = senderEvents("node-1", { "web-1": [1_050, 13_000], "web-2": [8_500] });

test("what is lost at a pod that was terminating before anything was counted is charged to no other termination", () => {
  const older = podLife("web-0", {
    created: -60_000,
    ready: -59_000,
    deleted: -5_000,
    exited: 11_000,
    gone: 11_500,
  });
  const records = [...traffic(2_000, 13_000), refused(11_200, { pod: "web-0" })];
  const { lostRequests, terminations } = account(
    recording({ podEvents: [...older, ...podLife("web-1", ordinary)], records }),
    meta,
  );
  assert.equal(terminations, 1);
  const [lost] = lostRequests.filter(({ pod }) => pod === "web-0");
  assert.ok(lost);
  assert.equal(lost.termination, undefined);
});

test("the cause of a status other than before is C11, and the sentence says what was answered then", () => {
  const lost = only(request(11_000, { outcome: "other-status", status: 404, error: "LEARNED_2XX_3XX" }), {
    podEvents: podLife("web-1", { ...ordinary, exited: 14_000, gone: 14_500 }),
  });
  assert.equal(lost.cause, "C11");
  assert.equal(
    lost.sentence,
    "404, where 2xx or 3xx was answered before: node-1 still chose web-1 1.0 s after its deletion",
  );
});

test("the cause of a refusal by a new pod that does not listen yet is C7", () => {
  const lost = only(refused(8_600, { pod: "web-2" }), { podEvents: rollout, senderEvents: both });
  assert.equal(lost.cause, "C7");
  assert.equal(
    lost.sentence,
    "refused: node-1 already chose web-2, which opened its listener only 399 ms later (created 601 ms before)",
  );
});

test("the cause is C7 where a new pod listens and is not ready, or is ready and cannot answer yet", () => {
  const unavailable = { pod: "web-2", outcome: "bad-status", status: 503 } as const;
  assert.equal(causeOf(request(9_200, unavailable), { podEvents: rollout, senderEvents: both }), "C7");
  const records = [request(9_700, unavailable), ...traffic(9_900, 15_000, { pod: "web-2" })];
  const lost = only(records.at(0)!, { podEvents: rollout, senderEvents: both, records });
  assert.equal(lost.cause, "C7");
  assert.match(lost.sentence, /answered its first request only \d+ ms later/);
});

test("the cause is not C7 where no request of the run tells its pod, so that a pod without answers is nothing special", () => {
  const unnamed = (record: RequestRecord): RequestRecord => {
    const { pod: _, podKnownBy: __, ...rest } = record;
    return rest;
  };
  const exits = podLife("web-1", { created: 0, opened: 500, ready: 1_000, deleted: 10_000, exited: 10_020 });
  const lost = unnamed(refused(9_990));
  const records = [...traffic(2_000, 9_900).map(unnamed), lost];
  assert.notEqual(only(lost, { podEvents: exits, records }).cause, "C7");
});

test("the cause is not C7 where a pod that answered before is overloaded (C8), or a deleted pod has left (C1)", () => {
  const records = [
    ...traffic(9_600, 9_900, { pod: "web-2" }),
    request(9_950, { pod: "web-2", outcome: "bad-status", status: 503 }),
  ];
  assert.equal(only(records.at(-1)!, { podEvents: rollout, senderEvents: both, records }).cause, "C8");
  assert.equal(causeOf(refused(10_500), { podEvents: rollout, senderEvents: both }), "C1");
});

test("the cause of an answer that a healthy pod gives too late is C8, and the sentence tells its queue", () => {
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

test("the cause of a request of a sender that has no endpoint left is C9", () => {
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

test("the cause is not C9 where the sender has an endpoint again: the time tells the pod, and the sentence says so", () => {
  const { pod: _, podKnownBy: __, ...unsent } = refused(10_500, { sender: "ingress-1" });
  const lost = only(unsent, { senderEvents: senderEvents("ingress-1", { "web-1": [1_050, 13_000] }) });
  assert.equal(lost.cause, "C1");
  assert.equal(lost.pod, "web-1");
  assert.equal(lost.podKnownBy, "time");
  assert.match(lost.sentence, /\(pod inferred from the time\)$/);
});

test("the cause of what the generator could not send is C10, which is counted apart and blames no pod", () => {
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

test("the cause of what a sender cut itself is proxy, which blames no pod", () => {
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
  assert.match(lost.sentence, /node-1 severed 12 connections to web-1 when it stopped sending to it$/);
  assert.equal(lost.termination, undefined, "no pod is to blame");
  const kept = only(
    request(10_900, { ...pooled, outcome: "timeout", finished: 20_900, endedBySender: true }),
    { podEvents: serving, senderEvents: severed },
  );
  assert.equal(kept.cause, "proxy");
  assert.match(kept.sentence, /: node-1 did not pass the pod's answer on$/);
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

test("the cause is not proxy where a pod ended while its sender reloaded", () => {
  const reloaded = [
    ...senderEvents("node-1", { "web-1": [1_050] }),
    { at: 12_010, sender: "node-1", type: "reloaded" } as const,
  ];
  assert.equal(causeOf(reset(11_500, { ...pooled, finished: 12_000 }), { senderEvents: reloaded }), "C4");
});

test("the cause of a loss that nothing explains is unknown, and the sentence says so", () => {
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

test("a pod name that comes back is another pod: its refusals belong to the new pod, or to the old one while the sender has not let go", () => {
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

test("the cause is the sender where it loses connections to several pods at one moment, one of which does not end", () => {
  const born = { created: 0, opened: 500, ready: 1_000 };
  const inHook = {
    ...born,
    deleted: 10_000,
    signalled: 25_000,
    closed: 25_010,
    exited: 25_020,
    gone: 25_500,
  };
  /** Requests that were cut, each with its pod, when, its sender, and when it set out, and what became of the pods. */
  const causesOf = (
    cut: readonly (readonly [pod: string, at?: number, sender?: string, sent?: number])[],
    second: Moments = born,
    first: Moments = inHook,
  ): string => {
    const records = cut.map(([pod, finished = 12_000, sender = "node-1", sent = 11_900]) =>
      reset(sent, { ...pooled, pod, finished, sender }),
    );
    const { lostRequests } = account(
      recording({
        records: [...traffic(2_000, 9_900), ...traffic(2_000, 9_900, { pod: "web-2" }), ...records],
        podEvents: [...podLife("web-1", first), ...podLife("web-2", second)],
        ended: 30_000,
      }),
      meta,
    );
    return [...new Set(lostRequests.map(({ pod, cause }) => `${pod} ${cause}`))].sort().join(", ");
  };
  assert.equal(causesOf([["web-1"]]), "web-1 C4");
  assert.equal(causesOf([["web-1"], ["web-2"]]), "web-1 proxy, web-2 proxy");
  assert.equal(causesOf([["web-1"], ["web-2", 12_040]]), "web-1 proxy, web-2 proxy");
  assert.equal(causesOf([["web-1"], ["web-2", 12_200]]), "web-1 C4, web-2 unknown");
  assert.equal(causesOf([["web-1"], ["web-2", 12_000, "node-2"]]), "web-1 C4, web-2 unknown");
  assert.equal(causesOf([["web-1"], ["web-1"]]), "web-1 C4");
  assert.equal(causesOf([["web-2"], ["web-2"]]), "web-2 unknown");
  // None of them ends: no hook or signal explains it, either.
  assert.equal(causesOf([["web-1"], ["web-2"]], born, born), "web-1 proxy, web-2 proxy");
  assert.equal(causesOf([["web-1"], ["web-2", 12_200]], born, born), "web-1 unknown, web-2 unknown");
  // A pod that runs closes an idle connection by its own time-out, as a request comes on it: it says nothing of the other.
  assert.equal(causesOf([["web-1"], ["web-2", 12_001, "node-1", 11_990]]), "web-1 C4, web-2 C3");
  // Both do what their hooks or signals make them do, or one of them ends by itself.
  assert.equal(causesOf([["web-1"], ["web-2"]], inHook), "web-1 C4, web-2 C4");
  assert.equal(
    causesOf([["web-1"], ["web-2"]], { ...born, closed: 11_990, exited: 12_000 }),
    "web-1 C4, web-2 C4",
  );
  assert.equal(
    causesOf([["web-1"], ["web-2"]], born, { ...inHook, signalled: 11_990 }),
    "web-1 C4, web-2 unknown",
  );
  const lost = account(
    recording({
      records: [
        ...traffic(2_000, 9_900),
        ...traffic(2_000, 9_900, { pod: "web-2" }),
        reset(11_900, { ...pooled, finished: 12_000 }),
        reset(11_900, { ...pooled, pod: "web-2", finished: 12_001 }),
      ],
      podEvents: [...podLife("web-1", inHook), ...podLife("web-2", born)],
      ended: 30_000,
    }),
    meta,
  ).lostRequests;
  assert.match(
    lost[0]?.sentence ?? "",
    /; node-1 lost connections to web-1 and web-2 at one moment, and web-2 was not ending$/,
  );
});
