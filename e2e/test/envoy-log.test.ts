import assert from "node:assert/strict";
import { test } from "node:test";
import type { RequestRecord } from "@lameduck/accounting";
import { retold } from "../ingress/envoy/retold.ts";

const record: RequestRecord = {
  id: 1,
  intended: 0,
  mode: "new",
  kind: "quick",
  sender: "envoy-1",
  reused: false,
  outcome: "timeout",
  received: 0,
};
const logged = { reused: true, flags: "-", details: "via_upstream", address: "192.0.2.7" };
const told = (own: Partial<RequestRecord>, log: Partial<typeof logged>): RequestRecord =>
  retold({ ...record, ...own }, { ...logged, ...log }, () => "web-1");

test("what Envoy resets without a pod is charged to Envoy, and an answer of its own that there is none is not", () => {
  const without = (own: Partial<RequestRecord>): RequestRecord =>
    retold({ ...record, ...own }, undefined, () => undefined);
  assert.equal(without({ outcome: "reset-before-response" }).endedBySender, true);
  assert.equal(without({ outcome: "bad-status", status: 503 }).endedBySender, undefined);
});

test("an answer that Envoy had and its client did not get is charged to Envoy, and nothing else is", () => {
  for (const outcome of ["timeout", "reset-before-response", "truncated"] as const)
    assert.equal(told({ outcome }, {}).endedBySender, true, outcome);
  assert.equal(
    told({ outcome: "bad-status", status: 503 }, {}).endedBySender,
    undefined,
    "the pod's own 503",
  );
  assert.equal(told({}, { flags: "UC", details: "upstream_reset" }).endedBySender, undefined);
  assert.equal(told({}, { flags: "DC" }).endedBySender, undefined, "the client had left before the answer");
  assert.deepEqual(told({ outcome: "ok" }, {}), { ...record, outcome: "ok", mode: "pooled", reused: true });
});
