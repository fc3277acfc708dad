import assert from "node:assert/strict";
import { test } from "node:test";
import { Nodes } from "../src/state/nodes.ts";
import { slimPod, type SlimNode, type SlimPod } from "@lameduck/cluster";
import { Pods } from "../src/state/pods.ts";
import { gone, Model, there } from "./model.ts";

const ended = { terminated: { exitCode: 0, reason: "Completed" } };
const running = { running: {} };

/** A pod that is deleted, and whose only container has ended. */
function ending(uid: string, sidecar?: object): SlimPod {
  return slimPod({
    metadata: { name: uid, uid, namespace: "shop", deletionTimestamp: "2026-01-01T00:00:30Z" },
    spec: { nodeName: "node1", containers: [{ name: "app" }] },
    status: {
      phase: "Running",
      podIPs: [{ ip: "10.244.1.5" }],
      containerStatuses: [{ name: "app", restartCount: 0, state: ended }],
      ...(sidecar && { initContainerStatuses: [{ name: "proxy", restartCount: 0, state: sidecar }] }),
    },
  });
}

test("a pod keeps its address while a sidecar runs that outlives its containers", () => {
  assert.deepEqual(
    [ending("a"), ending("a", ended), ending("a", running)].map(({ isFinished }) => isFinished),
    [true, true, false],
  );
});

test("the address of a pod that has ended belongs to no pod until another pod has it", () => {
  const pods = new Pods();
  pods.put(ending("a", running));
  assert.equal(pods.at("10.244.1.5")?.metadata.uid, "a");
  pods.put(ending("a"));
  assert.equal(pods.at("10.244.1.5"), undefined);
  pods.put(ending("b", running));
  pods.put(ending("a"));
  assert.equal(pods.at("10.244.1.5")?.metadata.uid, "b");
});

test("a node that is made anew keeps its address when the end of the former node is heard of late", () => {
  const nodes = new Nodes();
  const node = (uid: string): SlimNode => ({
    metadata: { name: "node1", uid },
    isReady: true,
    addresses: ["192.168.0.1"],
  });
  nodes.take(there(node("former")), 0);
  nodes.take(there(node("new")), 0);
  nodes.take(gone(node("former")), 0);
  assert.equal(nodes.at("192.168.0.1"), "node1");
});

test("a pod that got its address after its deletion is behind the Services whose slices list that address", () => {
  const model = new Model();
  const listed = (service: string, isTerminating: boolean): void => {
    const endpoints = [{ pod: "10.0.0.5", isReady: isTerminating, isTerminating }];
    const metadata = { name: service, uid: service, namespace: "shop" };
    model.terminations.slice(there({ metadata, service: `shop/${service}`, endpoints }), model.now);
  };
  model.ingress(["shop/api"]);
  listed("api", false);
  model.synced();
  model.pod("a", true, { address: "" });
  const { terminations } = model;
  const groups = () => terminations.releases.groups(model.record("a"));
  assert.deepEqual(groups(), []);
  model.pod("a", true, { address: "10.0.0.5" });
  assert.deepEqual(
    groups().map(({ name }) => name),
    ["ingress-class/nginx"],
  );
  listed("old", true);
  assert.equal(model.state("a"), "incomplete", "it stays published until it is gone");
  listed("old", false);
  assert.equal(model.state("a"), "waiting");
});
