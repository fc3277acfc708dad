import assert from "node:assert/strict";
import test from "node:test";
import { until } from "../../cluster/test/operator-api.ts";
import { vectorsOf } from "../../protocol/test/vectors.ts";
import { coordinating, fieldsOf } from "./fixture.ts";

test("a pod is released when every node has reported its withdrawal, and not before", async () => {
  let uid = "";
  await using all = await coordinating((scene) => {
    scene.node("node1");
    scene.node("node2");
    uid = scene.pod("web-1", "127.0.0.5");
  });
  const { scene, ask, report, follow } = all;
  const pod = (query = ""): Promise<Readonly<Record<string, string>>> =>
    ask({ path: `/v1/pods/shop/web-1?uid=${uid}${query}`, from: "127.0.0.5" }).then(({ text }) =>
      fieldsOf(text),
    );
  await follow("node1");
  await follow("node2");
  assert.deepEqual(await pod(), {
    state: "waiting",
    consumers: "0/2",
    behind: "kube-proxy/node1 (rules), kube-proxy/node2 (rules)",
    basis: "rules",
    mode: "availability",
  });
  scene.terminate("web-1");
  const { epoch } = await report("node1");
  const parked = report("node1", { epoch, wait: 30_000 });
  scene.withdraw("web-1");
  assert.deepEqual(await parked, { epoch, head: 1, withdrawn: [["127.0.0.5", 1]] });
  const waiting = pod("&wait=20&seen=waiting");
  await report("node1", { epoch, applied: 1, known: 1 });
  await report("node2", { epoch, reason: "in two\nlines: " });
  const half = await pod();
  assert.deepEqual(
    [half["state"], half["consumers"], half["behind"]],
    ["waiting", "1/2", "kube-proxy/node2 (rules)"],
  );
  await report("node2", { epoch, reason: "not reloaded" });
  assert.equal((await pod())["behind"], "kube-proxy/node2 (rules; not reloaded)");
  const reasons = all.coordinator.status().consumers.map(({ reason }) => reason);
  assert.deepEqual(reasons, [undefined, "not reloaded"]);
  await report("node2", { epoch, applied: 1, known: 1 });
  const released = await waiting;
  assert.equal(released["state"], "released");
  assert.equal(released["consumers"], "2/2");
  assert.equal(released["last"], "kube-proxy/node2");
  assert.ok(Number(released["withdrawn-ms"]) >= Number(released["released-ms"]));
  scene.gone("web-1");
  await until(() => all.coordinator.status().terminating === 0, "the end");
  assert.equal((await ask({ path: `/v1/pods/shop/web-1?uid=${uid}`, from: "127.0.0.5" })).status, 404);
  assert.deepEqual((await report("node1", { epoch, applied: 1, known: 1 })).withdrawn, []);
});

test("a pod that no Service lists decides by itself, in the mode consistency, too", async () => {
  const uids: string[] = [];
  await using all = await coordinating((scene) => {
    scene.node("node1");
    const spec = { acknowledgements: { mode: "consistency" } };
    scene.api.put("lameduck.dev/drainpolicies", "default", { metadata: { namespace: "shop" }, spec });
    uids.push(scene.pod("web-1", "127.0.0.5"));
    const { metadata } = scene.api.put("pods", "worker-1", {
      metadata: { namespace: "shop" },
      spec: { nodeName: "node1", containers: [{ name: "app" }] },
      status: { phase: "Running", podIPs: [{ ip: "127.0.0.6" }] },
    });
    uids.push(metadata.uid);
  });
  const modeOf = async (name: string, uid = "", from = ""): Promise<unknown> =>
    fieldsOf((await all.ask({ path: `/v1/pods/shop/${name}?uid=${uid}`, from })).text)["mode"];
  assert.equal(await modeOf("web-1", uids[0], "127.0.0.5"), "consistency");
  assert.equal(await modeOf("worker-1", uids[1], "127.0.0.6"), "availability");
});

test("reports of pods are taken as the vectors of the protocol say", async () => {
  const vectors = vectorsOf("pod-reports");
  const uids: string[] = [];
  await using all = await coordinating((scene) => {
    scene.node("node1");
    for (const at of vectors.keys()) uids.push(scene.pod(`web-${at}`, "127.0.0.5"));
  });
  for (const [at, { name, text, report }] of vectors.entries()) {
    const uid = uids[at] ?? "";
    const path = `/v1/pods/shop/web-${at}?uid=${uid}`;
    assert.equal((await all.ask({ method: "POST", path, from: "127.0.0.5", body: text })).status, 200);
    assert.deepEqual(all.coordinator.terminations.get(uid)?.reported, report, name);
  }
});
