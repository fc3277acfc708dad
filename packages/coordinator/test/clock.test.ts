import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { steadyNow, type TerminationListener, type TerminationView } from "../src/termination-view.ts";
import { describeTermination } from "../src/records/report/describe.ts";
import { FollowedTerminations } from "../src/records/report/followed.ts";
import { until } from "../../cluster/test/operator-api.ts";
import { coordinating, fieldsOf } from "./fixture.ts";

const hour = 3_600_000;

/** Sets this machine's clock, as far as this process can see. */
function setClock(t: TestContext, by: number): void {
  const real = Date.now;
  t.mock.method(Date, "now", () => real() + by);
}

test("a clock that is set forward ends no lifetime of a DNS record", async (t) => {
  let uid = "";
  await using all = await coordinating((scene) => {
    scene.node("node1");
    scene.api.change("services", "web", { spec: { clusterIP: "None" } });
    uid = scene.pod("web-1", "127.0.0.5");
  });
  const { ask, scene } = all;
  const pod = async (): Promise<Readonly<Record<string, string>>> =>
    fieldsOf((await ask({ path: `/v1/pods/shop/web-1?uid=${uid}`, from: "127.0.0.5" })).text);
  scene.terminate("web-1");
  scene.withdraw("web-1");
  await until(() => [...all.coordinator.terminations.values()].some((one) => one.sequence), "the withdrawal");
  setClock(t, hour);
  const { state, behind, "withdrawn-ms": withdrawn } = await pod();
  assert.deepEqual([state, behind], ["waiting", "dns/cluster (time)"]);
  assert.ok(Number(withdrawn) < hour / 2, `withdrawn for ${withdrawn} ms`);
});

test("a clock that is set back delays no answer to a pod that waits", async (t) => {
  let uid = "";
  await using all = await coordinating((scene) => {
    scene.node("node1");
    uid = scene.pod("web-1", "127.0.0.5");
  });
  const path = `/v1/pods/shop/web-1?uid=${uid}&wait=1&seen=waiting`;
  const answer = all.ask({ path, from: "127.0.0.5" });
  await until(() => all.coordinator.parked > 0, "the waiting request");
  setClock(t, -hour);
  assert.equal(fieldsOf((await answer).text)["state"], "waiting");
});

test("a record has the right moments and the right hour, though the clock is set between the start and the deletion", async (t) => {
  let seen: TerminationView | undefined;
  const listener: TerminationListener = (one, what) => {
    if (what === "ended") seen = one;
    else followed.hear(one, what);
  };
  const followed = new FollowedTerminations(() => Date.now(), steadyNow);
  await using all = await coordinating(
    (scene) => {
      scene.node("node1");
      scene.pod("web-1", "127.0.0.5");
    },
    { listeners: [listener], age: 0 },
  );
  setClock(t, -hour);
  all.scene.terminate("web-1");
  all.scene.withdraw("web-1");
  await until(
    () => [...all.coordinator.terminations.values()].some((one) => one.withdrawnAt),
    "the withdrawal",
  );
  all.scene.gone("web-1");
  await until(() => seen !== undefined, "the end");
  const { moments, deletedAt } = describeTermination(seen!, followed.hear(seen!, "ended"));
  assert.ok(Math.abs(Date.parse(deletedAt) - Date.now()) < 5_000, deletedAt);
  for (const moment of [moments.withdrawn, moments.gone])
    assert.ok(moment! < 10_000, JSON.stringify(moments));
});
