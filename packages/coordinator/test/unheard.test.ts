/** A replica that the API server tells nothing any more. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../cluster/test/operator-api.ts";
import { coordinating, fieldsOf } from "./fixture.ts";
import { addedWithin } from "@lameduck/cluster";
import { steadyNow } from "../src/termination-view.ts";

const slices = "discovery.k8s.io/endpointslices";

test("a replica that is cut off from the EndpointSlices says that it knows nothing, until it hears of them again", async () => {
  let [ahead, uid] = [0, ""];
  await using all = await coordinating(
    (scene) => {
      scene.node("node1");
      uid = scene.pod("web-1", "127.0.0.5");
      scene.api.fault = ({ watch, resource }) => (watch && resource === slices ? { stallAt: 0 } : undefined);
    },
    { now: () => steadyNow() + ahead, age: 0 },
  );
  const { api, scene, coordinator, metricsPort } = all;
  const ask = async (query = ""): Promise<Readonly<Record<string, string>>> =>
    fieldsOf((await all.ask({ path: `/v1/pods/shop/web-1?uid=${uid}${query}`, from: "127.0.0.5" })).text);
  await all.follow("node1");
  scene.terminate("web-1");
  await until(() => coordinator.terminations.size === 1, "the deletion");
  scene.withdraw("web-1");
  assert.equal((await ask())["state"], "waiting");
  const parked = ask("&wait=20&seen=waiting");
  await until(() => coordinator.parked > 0, "the waiting request");
  ahead = 16_000;
  const { state, behind = "" } = await parked;
  assert.equal(state, "unknown");
  assert.match(behind, /^endpointslices \(not heard of for 1[67] s\)$/);
  assert.match(coordinator.notReady() ?? "", /^endpointslices: not heard of for/);
  assert.deepEqual(coordinator.status().unread, [{ name: "endpointslices", state: "unheard" }]);
  const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  assert.match(metrics, /^lameduck_endpoints_unheard_seconds 1[67](\.\d+)?$/m);
  assert.match(metrics, /^lameduck_terminating\{state="unknown"\} 1$/m);
  api.fault = () => undefined;
  api.cut();
  await until(() => coordinator.notReady() === undefined, "a sign of life");
  // What has happened meanwhile nobody knows: consumers are asked later.
  ahead += addedWithin;
  await until(() => [...coordinator.terminations.values()][0]?.sequence !== undefined, "the number");
  await all.follow("node1");
  await until(() => [...coordinator.terminations.values()][0]?.state === "released", "the release");
});

test("an EndpointSlice watch on which nothing happens is renewed often enough", async () => {
  await using all = await coordinating((scene) => scene.node("node1"));
  const watch = all.api.asked.find(({ watch: isWatch, resource }) => isWatch && resource === slices);
  assert.equal(watch?.url.searchParams.get("timeoutSeconds"), "5");
});
