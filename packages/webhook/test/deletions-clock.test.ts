import assert from "node:assert/strict";
import test from "node:test";
import { heldMark } from "@lameduck/protocol";
import { deletion, replicaOf } from "./deletions-cluster.ts";
import { podOf, shop } from "./deletions-shop.ts";

/** The API server tells its time in whole seconds. */
const clockErrorMs = 1_100;

for (const [what, ahead, convergence, withdrawnFor] of [
  ["ahead waits for the whole rest", 60_000, 4_000, 0],
  ["behind waits only for the rest", -60_000, 15_000, 14_000],
] as const)
  test(`a replica whose clock is a minute ${what} of a deletion that another replica has begun`, async (t) => {
    const api = await shop(2, convergence / 1_000);
    await using _api = api;
    const real = Date.now;
    t.mock.method(Date, "now", () => real() + ahead);
    api.clockAhead = -ahead;
    await using replica = await replicaOf(api);
    const stepBegan = real() - withdrawnFor;
    const mark = { step: "withdrawn", by: "delete", labels: { app: "web" }, began: stepBegan, stepBegan };
    api.change("pods", "web-0", {
      metadata: {
        annotations: { [heldMark]: JSON.stringify({ ...mark, until: stepBegan + 60_000 }) },
        labels: { app: "", [heldMark]: "withdrawn" },
      },
    });
    api.reconcile();
    const { allowed, took } = await replica.call(deletion(podOf(api, "web-0")));
    const waited = real() - stepBegan;
    assert.deepEqual([allowed, replica.outcomes(), replica.problems], [true, ["waited"], []]);
    assert.ok(waited >= convergence - clockErrorMs, `after ${waited} of ${convergence} ms`);
    // Whoever takes the mark for a new one waits for all of it.
    if (ahead < 0) assert.ok(took < convergence, `${took} of ${convergence} ms`);
  });
