import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { heldMark } from "@lameduck/protocol";
import { until } from "../../cluster/test/operator-api.ts";
import { replicaOf, type PodApi } from "./deletions-cluster.ts";
import { isHeld, isListed, labelsOf, podOf, shop } from "./deletions-shop.ts";

/** As the kubelet writes it. */
const conditions = {
  ready: { status: "True", reason: "KubeletReady", message: "kubelet is posting ready status" },
  "shutting down": { status: "False", reason: "KubeletNotReady", message: "node is shutting down" },
  broken: { status: "False", reason: "KubeletNotReady", message: "container runtime is down" },
  away: { status: "Unknown", reason: "NodeStatusUnknown", message: "Kubelet stopped posting node status." },
} as const;

const nodeIs = (api: PodApi, name: string, state: keyof typeof conditions): unknown =>
  api.put("nodes", name, { status: { conditions: [{ type: "Ready", ...conditions[state] }] } });

/** Two pods on node1 and one on node2; injected, as a rule. */
async function cluster(): Promise<PodApi> {
  const api = await shop(0);
  api.put("namespaces", "shop", { metadata: { labels: { "lameduck.dev/inject": "enabled" } } });
  for (const node of ["node1", "node2"]) nodeIs(api, node, "ready");
  const annotations = { "lameduck.dev/injected": "0.1.0" };
  for (const [name, nodeName] of [
    ["web-0", "node1"],
    ["web-1", "node1"],
    ["web-2", "node2"],
  ] as const)
    api.pod(name, { metadata: { annotations }, spec: { nodeName } });
  return api;
}

const marked = (api: PodApi): string[] => ["web-0", "web-1", "web-2"].filter((name) => isHeld(api, name));

describe("pods of a node that shuts down", { concurrency: true }, () => {
  it("pods of a node that shuts down leave their Service at once, and others stay", async () => {
    await using api = await cluster();
    await using replica = await replicaOf(api, { nodeShutdowns: true });
    nodeIs(api, "node1", "shutting down");
    await until(() => replica.withdrawn.length === 2 && !isListed(api, "web-1"), "withdrawn");
    assert.deepEqual(marked(api), ["web-0", "web-1"]);
    assert.deepEqual([isListed(api, "web-0"), isListed(api, "web-2")], [false, true]);
    assert.deepEqual(replica.withdrawn, ["web-0", "web-1"]);
    assert.deepEqual(replica.problems, []);
  });

  it("pods whose owner cannot be read keep no other from leaving its Service, however many they are", async () => {
    await using api = await cluster();
    const ownerReferences = [{ kind: "ReplicaSet", name: "broken", uid: "broken", controller: true }];
    for (let index = 0; index < 12; index++)
      api.pod(`broken-${index}`, { metadata: { ownerReferences }, spec: { nodeName: "node1" } });
    api.pod("web-3", { spec: { nodeName: "node1" } });
    api.fault = ({ name }) => (name === "broken" ? { status: 500, body: { message: "no etcd" } } : undefined);
    await using replica = await replicaOf(api, { nodeShutdowns: true });
    nodeIs(api, "node1", "shutting down");
    await until(() => replica.withdrawn.length === 3, "withdrawn");
    assert.deepEqual(replica.withdrawn.toSorted(), ["web-0", "web-1", "web-3"]);
    assert.match(String(replica.problems[0]), /no etcd/);
  });

  it("a pod stays where nobody has chosen otherwise, where its node is not ready for another reason, and in other namespaces", async () => {
    await using api = await cluster();
    await using replica = await replicaOf(api, { nodeShutdowns: true });
    await using off = await replicaOf(api);
    nodeIs(api, "node1", "broken");
    nodeIs(api, "node2", "away");
    api.put("namespaces", "other", { metadata: { labels: {} } });
    api.pod("a-0", { metadata: { namespace: "other" }, spec: { nodeName: "node3" } });
    api.pod("web-3", { spec: { nodeName: "node3" } });
    nodeIs(api, "node3", "shutting down");
    await until(() => replica.withdrawn.length > 0, "the pod of node3");
    assert.deepEqual([replica.withdrawn, marked(api), off.withdrawn], [["web-3"], [], []]);
  });

  it("the last ready endpoint stays until another pod is ready", async () => {
    await using api = await cluster();
    api.remove("pods", "web-2");
    api.reconcile();
    await using _replica = await replicaOf(api, { nodeShutdowns: true });
    nodeIs(api, "node1", "shutting down");
    await until(() => marked(api).length === 1, "one withdrawn");
    api.pod("web-2", { spec: { nodeName: "node2" } });
    await until(() => marked(api).length === 2, "the other, too");
    assert.deepEqual(marked(api), ["web-0", "web-1"]);
  });

  it("the last ready endpoint stays where all nodes shut down together", async () => {
    await using api = await cluster();
    api.controllerLag = 500;
    await using replica = await replicaOf(api, { nodeShutdowns: true });
    for (const node of ["node1", "node2"]) nodeIs(api, node, "shutting down");
    const looks = (): number =>
      api.asked.filter(({ url }) => url.searchParams.get("fieldSelector") === "spec.nodeName=node2").length;
    await until(() => marked(api).length >= 2 && looks() >= 2, "looked again at each node");
    assert.deepEqual([marked(api).length, replica.withdrawn.length], [2, 2]);
  });

  it("a withdrawn pod gets its labels back when its node is ready again, and not before", async () => {
    await using api = await cluster();
    await using _replica = await replicaOf(api, { nodeShutdowns: true });
    nodeIs(api, "node1", "shutting down");
    await until(() => marked(api).length === 2, "withdrawn");
    const annotations = podOf(api, "web-0").metadata["annotations"] as Record<string, string>;
    const mark = JSON.parse(annotations[heldMark] ?? "") as object;
    // Its time is over; a node that is off is none that is back.
    api.change("pods", "web-0", {
      metadata: { annotations: { [heldMark]: JSON.stringify({ ...mark, until: 1 }) } },
    });
    nodeIs(api, "node1", "away");
    const looks = (): number =>
      api.asked.filter(({ url }) => url.searchParams.get("labelSelector") === heldMark).length;
    const before = looks();
    await until(() => looks() > before, "looked for what is left");
    assert.equal(marked(api).length, 2);
    nodeIs(api, "node1", "ready");
    await until(() => marked(api).length === 0, "as they were");
    assert.equal(labelsOf(api, "web-0")["app"], "web");
  });
});
