/** A replica that the API server tells nothing any more. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../cluster/test/operator-api.ts";
import { coordinating, fieldsOf } from "./fixture.ts";
import { addedWithinMs } from "@lameduck/cluster";
import { steadyNow } from "../src/termination-view.ts";

const slices = "discovery.k8s.io/endpointslices";
/** Milliseconds: more than the coordinator believes what it heard last. */
const aheadMs = 16_000;

test("a replica that is cut off from the EndpointSlices says that it knows nothing, until it hears of them again", async () => {
  const began = steadyNow();
  let [ahead, uid] = [0, ""];
  await using all = await coordinating(
    (scene) => {
      scene.node("node1");
      uid = scene.pod("web-1", "127.0.0.5");
      // A list would be heard; none is read while the clock is set ahead.
      scene.api.fault = ({ watch, resource }) =>
        resource === slices && (watch || ahead > 0) ? { stallAt: 0 } : undefined;
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
  ahead = aheadMs;
  /** Seconds: no less than the clock was set ahead, and no more than that and the time that the test has taken. */
  const isSilence = (seconds: number): boolean =>
    seconds >= aheadMs / 1_000 && seconds <= Math.ceil((aheadMs + steadyNow() - began) / 1_000);
  const { state, behind = "" } = await parked;
  assert.equal(state, "unknown");
  const [, told] = /^endpointslices \(not heard of for (\d+) s\)$/.exec(behind) ?? [];
  assert.ok(isSilence(Number(told)), behind);
  assert.match(coordinator.notReady() ?? "", /^endpointslices: not heard of for/);
  assert.deepEqual(coordinator.status().unread, [{ name: "endpointslices", state: "unheard" }]);
  const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const [line = "", measured] = /^lameduck_endpoints_unheard_seconds (\S+)$/m.exec(metrics) ?? [];
  assert.ok(isSilence(Number(measured)), line);
  assert.match(metrics, /^lameduck_terminating\{state="unknown"\} 1$/m);
  api.fault = () => undefined;
  api.cut();
  await until(() => coordinator.notReady() === undefined, "a sign of life");
  // What has happened meanwhile nobody knows: consumers are asked later.
  ahead += addedWithinMs;
  await until(() => [...coordinator.terminations.values()][0]?.sequence !== undefined, "the number");
  await all.follow("node1");
  await until(() => [...coordinator.terminations.values()][0]?.state === "released", "the release");
});

test("an EndpointSlice watch on which nothing happens is renewed often enough", async () => {
  await using all = await coordinating((scene) => scene.node("node1"));
  const watch = all.api.asked.find(({ watch: isWatch, resource }) => isWatch && resource === slices);
  assert.equal(watch?.url.searchParams.get("timeoutSeconds"), "5");
});
