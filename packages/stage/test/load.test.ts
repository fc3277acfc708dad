import assert from "node:assert/strict";
import { test } from "node:test";

import { outcomes, rig, sentOf } from "./load-helpers.ts";
import { answerOk, serve, until } from "../../load/test/servers.ts";

test("each request through a healthy pod is answered, and each has a record", async (t) => {
  const { port } = await serve(t, answerOk);
  const { fleet, clock, event } = await rig(t, {
    load: { rate: 400, pooledShare: 0.5, expect: { quick: { text: "ok\n" } } },
  });
  fleet.ready({ pod: "web-1", address: "127.0.0.1", port }, clock.now());
  await event((seen) => seen.type === "filled");
  await fleet.begin();
  await until(() => fleet.progress().finished > 200, "200 requests");
  const { records } = await fleet.stop();
  assert.equal(records.length, fleet.progress().due);
  assert.deepEqual(
    records.map((record) => record.id),
    records.map((_, index) => index),
  );
  const sent = sentOf(records);
  assert.deepEqual(outcomes(sent), { ok: sent.length });
  for (const record of sent) {
    assert.equal(record.pod, "web-1");
    assert.equal(record.podKnownBy, "choice");
    assert.equal(record.sender, "s");
    assert.ok((record.connected ?? 0) <= (record.sent ?? 0) && (record.sent ?? 0) <= (record.finished ?? 0));
    assert.ok(record.intended <= (record.sent ?? 0));
    if (record.mode === "new") assert.equal(record.reused, false);
  }
  const pooled = sent.filter((record) => record.mode === "pooled");
  assert.ok(pooled.some((record) => record.reused));
  assert.ok(
    new Set(pooled.map((record) => record.connection)).size < pooled.length / 2,
    "pooled connections are reused",
  );
});

test("a server that stalls is asked as often as one that answers", async (t) => {
  const seen = async (behave: typeof answerOk): Promise<number[]> => {
    const { port } = await serve(t, behave);
    const { fleet, clock, event } = await rig(t, { load: { rate: 300, timeout: "500ms" }, seed: 7 });
    fleet.ready({ pod: "web-1", address: "127.0.0.1", port }, clock.now());
    await event((seen) => seen.type === "filled");
    const began = await fleet.begin();
    await until(() => fleet.progress().due >= 300, "300 requests due");
    const { records } = await fleet.stop();
    return records.slice(0, 300).map((record) => Math.round((record.intended - began) * 1_000));
  };
  const answered = await seen(answerOk);
  const stalled = await seen(() => undefined);
  assert.deepEqual(stalled, answered);
});
