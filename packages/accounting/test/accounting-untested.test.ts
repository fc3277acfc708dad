import assert from "node:assert/strict";
import { test } from "node:test";
import { account, verdictOf, type RequestRecord, type RunRecording } from "../src/index.ts";
import { reservations } from "../src/report/reservations.ts";
import {
  ordinary,
  podLife,
  recording,
  refused,
  request,
  reset,
  senderEvents,
  traffic,
} from "./accounting-recording.ts";

/** Two senders, a pod that stays (web-2), and web-1, which is deleted at 10 s, stops at 10.02 s and is gone at 12.5 s. */
const stays = podLife("web-2", { created: 0, opened: 500, ready: 1_000 });
const beside: Partial<RunRecording> = {
  podEvents: [...podLife("web-1", ordinary), ...stays],
  senderEvents: [
    ...senderEvents("node-1", { "web-1": [1_050, 10_010], "web-2": [1_050] }),
    ...senderEvents("node-2", { "web-2": [1_050] }),
  ],
};

const resultOf = (parts: Partial<RunRecording>) =>
  account(recording({ ...beside, ...parts }), { description: "", seed: 1 });

function withoutPod(record: RequestRecord): RequestRecord {
  const { pod: _, podKnownBy: __, ...rest } = record;
  return rest;
}

const before = traffic(2_000, 10_000);
const after = traffic(10_000, 19_000, { pod: "web-2" });

test("a termination with load through it, before it and while it ends, is tested", () => {
  const result = resultOf({ records: [...before, ...after] });
  assert.equal(result.untested, 0);
  assert.equal(result.each[0]?.untested, undefined);
  assert.equal(verdictOf(result), "no loss");
  assert.equal(result.lostPerTermination.high.toFixed(2), "0.95");
});

test("a termination after the load's end is untested, and does not count among those that lost nothing", () => {
  const result = resultOf({ records: traffic(2_000, 8_000) });
  assert.equal(result.terminations, 1);
  assert.equal(result.untested, 1);
  assert.match(result.each[0]?.untested ?? "", /no request was sent while it ended/);
  assert.deepEqual(result.lostPerTermination, { mean: 0, low: 0, high: 0 });
  assert.equal(verdictOf(result), "untested");
});

test("a termination that is under way when the load ends is untested: the load must be there when the pod stops", () => {
  const slow = { ...ordinary, signalled: 18_000, closed: 18_000, exited: 18_500, gone: 18_600 };
  const podEvents = [...podLife("web-1", slow), ...stays];
  assert.equal(resultOf({ podEvents, records: [...before, ...traffic(10_000, 14_000)] }).untested, 1);
  assert.equal(resultOf({ podEvents, records: [...before, ...after] }).untested, 0);
});

test("a termination whose senders were all silent is untested, whatever other senders sent", () => {
  const others = traffic(10_000, 19_000, { pod: "web-2", sender: "node-2" });
  const result = resultOf({ records: [...traffic(2_000, 8_000), ...others] });
  assert.match(result.each[0]?.untested ?? "", /no request was sent while it ended/);
});

test("a termination to which no request ever went is untested where its senders' answers name their pods, and only there", () => {
  const elsewhere = traffic(2_000, 19_000, { pod: "web-2" });
  assert.match(resultOf({ records: elsewhere }).each[0]?.untested ?? "", /no request went to it/);
  const { pod: _, podKnownBy: __, ...unnamed } = request(3_000);
  assert.equal(
    resultOf({ records: [...elsewhere, unnamed] }).untested,
    1,
    "one answer of a proxy's own changes nothing",
  );
  const silent = elsewhere.map(withoutPod);
  assert.equal(resultOf({ records: silent }).untested, 0);
});

test("answers that name pods of another service are no load for the target", () => {
  const foreign = [...before, ...after].map(
    (record) => ({ ...withoutPod(record), elsewhere: true }) as const,
  );
  const result = resultOf({ records: foreign });
  assert.match(result.each[0]?.untested ?? "", /the answers name pods that are not the target's/);
  assert.equal(verdictOf(result), "untested");
});

test("a run with requests that have no record gets no verdict, as they may have been lost", () => {
  const records = [...before, ...after];
  const counted = records.length;
  assert.equal(verdictOf(resultOf({ records, scheduled: counted })), "no loss");
  assert.equal(verdictOf(resultOf({ records, scheduled: counted + 1 })), "untested");
});

test("a termination that had not ended with the run is untested: nobody saw it stop", () => {
  const { created, opened, ready, deleted } = ordinary as Required<typeof ordinary>;
  const podEvents = [...podLife("web-1", { created, opened, ready, deleted }), ...stays];
  const result = resultOf({ podEvents, records: [...before, ...after] });
  assert.match(result.each[0]?.untested ?? "", /had not ended/);
});

test("a termination that lost a request is tested, as the loss is evidence", () => {
  const result = resultOf({ records: [refused(10_300)] });
  assert.equal(result.untested, 0);
  assert.equal(verdictOf(result), "loses");
});

test("requests that the generator could not send test nothing", () => {
  const unsent = traffic(2_000, 19_000).map((record) => ({ ...record, outcome: "not-sent" as const }));
  assert.equal(resultOf({ records: unsent }).untested, 1);
});

test("a run with some untested terminations is untested, and its interval is that of the tested ones", () => {
  const podEvents = [
    ...podLife("web-1", ordinary),
    ...podLife("web-3", {
      ...ordinary,
      deleted: 16_000,
      signalled: 16_000,
      closed: 16_010,
      exited: 17_000,
      gone: 17_100,
    }),
    ...stays,
  ];
  const records = [
    ...before,
    ...traffic(2_000, 10_000, { pod: "web-3" }),
    ...traffic(10_000, 14_000, { pod: "web-2" }),
  ];
  const result = resultOf({ podEvents, records, senderEvents: [] });
  assert.deepEqual(
    result.each.map(({ pod, untested }) => [pod, untested === undefined]),
    [
      ["web-1", true],
      ["web-3", false],
    ],
  );
  assert.equal(result.untested, 1);
  assert.equal(result.lostPerTermination.high.toFixed(2), "0.95");
  assert.equal(verdictOf(result), "untested");
});

test("a pod that never became ready was never in service: its end is untested, also where no answer names a pod", () => {
  const { ready: _, ...neverReady } = ordinary;
  const podEvents = [...podLife("web-1", neverReady), ...stays];
  const unnamed = [...before, ...after].map(withoutPod);
  const quiet = { podEvents, senderEvents: [] };
  assert.match(resultOf({ ...quiet, records: unnamed }).each[0]?.untested ?? "", /never in service/);
  const named = traffic(2_000, 19_000, { pod: "web-2" });
  assert.match(resultOf({ ...quiet, records: named }).each[0]?.untested ?? "", /never in service/);
  assert.equal(
    resultOf({ ...quiet, records: [...before, ...after] }).untested,
    0,
    "a request went to it all the same",
  );
});

test("a request that the generator sent late by its own stall, and that failed, is neither a loss nor a pass", () => {
  // Meant for a moment at which the pod still listened.
  const late = refused(9_919, { late: 181, finished: 10_101 });
  const result = resultOf({ records: [...before, ...after, late] });
  assert.deepEqual([result.lost, result.notSent, result.notSentBecause], [0, 1, { STALLED: 1 }]);
  assert.match(result.each[0]?.untested ?? "", /the load generator stalled/);
  assert.equal(verdictOf(result), "untested");
  assert.match(
    reservations([result]).join("\n"),
    /the load generator itself stalled. 1 requests? that it sent late/,
  );
  // One that was in time is lost all the same.
  const both = resultOf({ records: [...before, ...after, late, refused(10_200)] });
  assert.deepEqual([both.lost, both.lostByCause], [1, { C1: 1 }]);
  assert.equal(verdictOf(both), "loses");
  // So is one that would have found the listener closed on time, or that was under way for longer than it was late.
  const anyway = [refused(10_200, { late: 150 }), reset(9_500, { late: 150, finished: 10_021 })];
  assert.equal(resultOf({ records: [...before, ...after, ...anyway] }).lost, 2);
  // Answered late is answered, and the delay is not the app's.
  const answered = resultOf({
    records: [...before, ...after, { ...late, outcome: "ok", late: 1_500, finished: 12_000 }],
  });
  assert.deepEqual([answered.slow, verdictOf(answered)], [0, "no loss"]);
});
