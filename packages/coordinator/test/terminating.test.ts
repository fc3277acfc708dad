/** Who terminates now, and a pod whose object outlives its containers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../cluster/test/operator-api.ts";
import { coordinating } from "./fixture.ts";
import { steadyNow, type TerminationListener, type TerminationView } from "../src/termination-view.ts";
import type { TerminatingPods } from "../src/index.ts";
import { describeTermination } from "../src/records/report/describe.ts";

test("the list of terminating pods names the consumers that each pod waits for, and a pod whose object a finalizer keeps is recorded once", async () => {
  let ahead = 0;
  const ended: TerminationView[] = [];
  const listener: TerminationListener = (one, what) => void (what === "ended" && ended.push(one));
  await using all = await coordinating(
    (scene) => {
      scene.node("node1");
      scene.node("node2");
      scene.pod("web-1", "127.0.0.5");
    },
    { now: () => steadyNow() + ahead, listeners: [listener] },
  );
  const { api, scene, coordinator, metricsPort } = all;
  const listed = async (): Promise<TerminatingPods> =>
    (await (await fetch(`http://127.0.0.1:${metricsPort}/terminating`)).json()) as TerminatingPods;
  assert.deepEqual((await listed()).pods, []);
  await all.follow("node1");
  await all.follow("node2");
  api.change("pods", "web-1", { metadata: { finalizers: ["example.com/backup"] } });
  scene.terminate("web-1");
  scene.withdraw("web-1");
  await until(() => [...coordinator.terminations.values()][0]?.sequence !== undefined, "the withdrawal");
  await all.follow("node1");
  const { pods, more } = await listed();
  assert.equal(more, 0);
  assert.partialDeepStrictEqual(pods, [
    {
      namespace: "shop",
      name: "web-1",
      graceSeconds: 30,
      state: "waiting",
      waitsFor: ["kube-proxy/node2"],
      isFinished: false,
    },
  ]);
  await all.follow("node2");
  await until(() => coordinator.status().released === 1, "the release");
  const finishedAt = new Date().toISOString();
  const exit = { name: "app", state: { terminated: { exitCode: 0, finishedAt } } };
  api.change("pods", "web-1", { status: { phase: "Succeeded", containerStatuses: [exit] } });
  await until(
    () => [...coordinator.terminations.values()].some((one) => one.isFinished),
    "the end of its containers",
  );
  assert.equal(ended.length, 0);
  ahead = 11_000;
  await until(() => ended.length > 0, "the record");
  const followed = { isWhole: true, origin: Date.now(), began: steadyNow() };
  const [first] = ended;
  assert.ok(first);
  const { unknown, killed } = describeTermination(first, followed);
  assert.equal(killed, "no");
  assert.match(unknown.join("\n"), /gone: .*the object stays \(finalizers: example\.com\/backup\)/);
  assert.deepEqual((await listed()).pods[0]?.finalizers, ["example.com/backup"]);
  scene.gone("web-1");
  await until(() => coordinator.terminations.size === 0, "the end of the object");
  assert.equal(ended.length, 1);
});

test("a consumer that falls silent is seen within a minute, also while no pod terminates", async () => {
  let ahead = 0;
  await using all = await coordinating((scene) => scene.node("node1"), { now: () => steadyNow() + ahead });
  await all.follow("node1");
  const isSilent = (): unknown => all.coordinator.status().consumers.map((one) => one.isSilent);
  assert.deepEqual(isSilent(), [false]);
  ahead = 40_000;
  assert.deepEqual(isSilent(), [false], "it renews its request every 30 s");
  ahead = 60_000;
  assert.deepEqual(isSilent(), [true]);
  await all.follow("node1");
  assert.deepEqual(isSilent(), [false]);
});
