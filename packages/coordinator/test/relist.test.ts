import assert from "node:assert/strict";
import { it } from "node:test";
import { until } from "../../cluster/test/operator-api.ts";
import { coordinating, type Coordinating } from "./fixture.ts";
import { Model, there } from "./model.ts";

const slices = "discovery.k8s.io/endpointslices";

/** The watches have lost their place, and everything is listed again. What `meanwhile` changes, only the lists show. */
async function relist({ api }: Coordinating, meanwhile: () => void = () => undefined): Promise<void> {
  const lists = (): number => api.asked.filter(({ resource, watch }) => resource === slices && !watch).length;
  const before = lists();
  api.expire();
  meanwhile();
  await until(() => lists() > before, "listed again");
  const watches = api.asked.length;
  await until(
    () => api.asked.slice(watches).some(({ resource, watch }) => resource === slices && watch),
    "watched again",
  );
}

it("a watch that loses its place again and again makes no pod young whose Service has not changed meanwhile", async () => {
  await using running = await coordinating((scene) => {
    scene.node("node1");
    scene.pod("web-1");
    scene.pod("web-2", "127.0.0.2");
    scene.pod("web-3", "127.0.0.3");
  });
  const { api, scene, coordinator, follow } = running;
  const record = (name: string) => [...coordinator.terminations.values()].find((one) => one.name === name);
  const other = { metadata: { namespace: "shop", labels: { "kubernetes.io/service-name": "api" } } };
  api.put(slices, "api-1", { ...other, endpoints: [] });
  await follow("node1");
  for (let times = 1; times <= 2; times++)
    await relist(running, () => api.change(slices, "api-1", { endpoints: [], times }));
  scene.terminate("web-1");
  scene.withdraw("web-1");
  await until(() => record("web-1")?.withdrawnAt !== undefined, "withdrawn");
  assert.notEqual(record("web-1")?.sequence, undefined, "consumers are asked at once");
  await follow("node1");
  await until(() => record("web-1")?.state === "released", "released");
  scene.terminate("web-2");
  await relist(running, () => scene.withdraw("web-2"));
  await until(() => record("web-2")?.withdrawnAt !== undefined, "withdrawn");
  assert.notEqual(record("web-2")?.sequence, undefined, "its Service was nothing else meanwhile");
  assert.equal(record("web-2")?.isMeasured, false, "when it was withdrawn the list does not show");
  scene.terminate("web-3");
  await relist(running, () => {
    scene.touch();
    scene.withdraw("web-3");
  });
  await until(() => record("web-3")?.withdrawnAt !== undefined, "withdrawn");
  assert.equal(record("web-3")?.sequence, undefined, "a list does not show what its Service was meanwhile");
  assert.equal(record("web-1")?.state, "released", "what is released stays so");
});

it("a slice that has changed only once between two lists makes no pod young where it is the only slice of its Service", () => {
  const model = new Model();
  model.node("node1");
  model.report("node1", 0);
  model.synced();
  const listed = (
    name: string,
    generation: number,
    pods: Readonly<Record<string, boolean>>,
    addressType = "IPv4",
  ): void => {
    const endpoints = Object.entries(pods).map(([pod, isReady]) => ({
      pod,
      isReady,
      isTerminating: !isReady,
    }));
    const metadata = { name, uid: name, namespace: "shop", generation };
    const object = { metadata, service: "shop/web", addressType, endpoints };
    model.terminations.slice({ ...there(object), live: false, at: model.now }, model.now);
  };
  for (const pod of ["a", "b"]) model.pod(pod);
  listed("one", 1, { a: true, b: true });
  listed("two", 4, { c: true });
  model.pass(20_000);
  for (const pod of ["a", "b"]) model.pod(pod, true);
  for (let generation = 2; generation < 6; generation++) {
    model.pass(4_000);
    listed("one", generation, { a: false, b: generation < 5 });
    assert.notEqual(model.record("a").sequence, undefined, `with generation ${generation}`);
  }
  model.report("node1", model.withdrawals.lastSequence);
  assert.equal(model.state("a"), "released");
  assert.equal(model.state("b"), "released");
  for (const pod of ["d", "e"]) model.pod(pod);
  listed("one", 6, { d: true, e: true });
  listed("six", 1, { c: true }, "IPv6");
  model.pass(20_000);
  model.pod("d", true);
  listed("one", 7, { d: false, e: true });
  listed("six", 2, {}, "IPv6");
  model.pass(4_000);
  assert.notEqual(model.record("d").sequence, undefined, "proxies look at each family alone");
  model.pod("e", true);
  listed("one", 8, { d: false, e: false });
  listed("two", 5, {});
  model.pass(4_000);
  assert.equal(model.record("e").sequence, undefined, "which of them changed first does not show");
});
