import assert from "node:assert/strict";
import test from "node:test";
import { heldMark } from "@lameduck/protocol";
import { deletion, replicaOf } from "./deletions-cluster.ts";
import { podOf, shop } from "./deletions-shop.ts";

/** Of senders, seconds. */
const convergence = 4;

for (const [what, ahead, withdrawnFor, least, most] of [
  ["ahead waits for the whole rest", 5_000, 0, 2_900, 6_000],
  ["behind waits only for the rest", -5_000, 3_500, 0, 2_500],
] as const)
  test(`a replica whose clock is 5 s ${what} of a deletion that another replica has begun`, async (t) => {
    const api = await shop(2, convergence);
    await using _api = api;
    const stepBegan = api.now() - withdrawnFor;
    const mark = { step: "withdrawn", by: "delete", labels: { app: "web" }, began: stepBegan, stepBegan };
    api.change("pods", "web-0", {
      metadata: {
        annotations: { [heldMark]: JSON.stringify({ ...mark, until: stepBegan + 60_000 }) },
        labels: { app: "", [heldMark]: "withdrawn" },
      },
    });
    api.reconcile();
    const real = Date.now;
    t.mock.method(Date, "now", () => real() + ahead);
    api.clockAhead = -ahead;
    await using replica = await replicaOf(api);
    const { allowed, took } = await replica.call(deletion(podOf(api, "web-0")));
    assert.deepEqual([allowed, replica.outcomes(), replica.problems], [true, ["waited"], []]);
    assert.ok(took >= least && took <= most, String(took));
  });
