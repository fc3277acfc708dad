import assert from "node:assert/strict";
import { test } from "node:test";
import { account } from "../src/index.ts";
import { reservations } from "../src/report/reservations.ts";
import { ordinary, podLife, recording, type Moments } from "./accounting-recording.ts";

function holdOf(moments: Moments) {
  const podEvents = podLife("web-1", { ...ordinary, ...moments });
  const { each } = account(recording({ podEvents }), { description: "", seed: 1, timeline: false });
  const [only, ...others] = each;
  assert.ok(only && others.length === 0);
  return only;
}

test("a hold lasts until the listener closes", () => {
  assert.equal(holdOf({ closed: 14_000, exited: 16_000, gone: 16_000 }).hold, 4_000);
});

test("a deletion that is heard of after the pod has closed makes no hold that lasts until the pod's end", () => {
  assert.equal(holdOf({ closed: 9_900, exited: 40_000, gone: 40_000 }).hold, 0);
});

test("a SIGKILL before the end of the grace period is told with its reason, and one at its end without", () => {
  const early = podLife("web-1", { ...ordinary, exited: 13_100 }, { signal: "SIGKILL", detail: "OOMKilled" });
  const result = account(recording({ podEvents: early }), { description: "", seed: 1 });
  assert.deepEqual(result.each[0]?.killedEarly, { after: 3_100, why: "OOMKilled" });
  assert.match(
    reservations([result]).join("\n"),
    /1 of 1 termination ended by SIGKILL before the grace period was over, such as that of web-1 after 3\.1 s of 30\.0 s \(OOMKilled\)/,
  );
  const late = podLife("web-1", { ...ordinary, killed: 40_000, exited: 40_001 }, { signal: "SIGKILL" });
  assert.equal(
    account(recording({ podEvents: late, ended: 50_000 }), { description: "", seed: 1 }).each[0]?.killedEarly,
    undefined,
  );
});

test("what a container said at a restart in place, before the deletion, is no part of the termination", () => {
  const said = { pod: "web-1", type: "phase", phase: "closing" } as const;
  const podEvents = [
    ...podLife("web-1", { ...ordinary, closed: 14_000, exited: 16_000, gone: 16_000 }),
    { ...said, at: 5_000, reason: "idle" } as const,
  ];
  const of = (events: typeof podEvents) =>
    account(recording({ podEvents: events }), { description: "", seed: 1, timeline: false }).each[0];
  assert.deepEqual([of(podEvents)?.hold, of(podEvents)?.stopReason], [4_000, "listener closed"]);
  const after = of([...podEvents, { ...said, at: 13_900, reason: "quiet" }]);
  assert.deepEqual([after?.hold, after?.stopReason], [3_900, "quiet"]);
});

test("a listener that closed long before, and opened again unseen, does not end the hold", () => {
  assert.equal(holdOf({ closed: 5_000, exited: 12_000, gone: 12_000 }).hold, 2_000);
});
