import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describeTermination } from "../src/records/report/describe.ts";
import { eventOf } from "../src/records/event-of.ts";
import { until } from "../../cluster/test/operator-api.ts";
import { coordinating } from "./fixture.ts";

const ingress = "lameduck-node:lameduck-watcher";

/** @returns what the record, the Event and the metric say of a connection from that address after the release. */
async function accusedOf(address: string): Promise<{ record: string; event: string; metric: string }> {
  let uid = "";
  await using all = await coordinating((scene) => {
    scene.node("node1");
    scene.node("node2");
    uid = scene.pod("web-1");
    scene.pod("client", "10.244.2.9", { spec: { nodeName: "node2" } });
    const proxy = scene.pod("proxy", "10.244.1.7");
    scene.api.tokens.set("token-proxy", { account: ingress, podUid: proxy });
  });
  const { scene, follow, ask, tell, coordinator } = all;
  for (const node of ["node1", "node2"]) await follow(node);
  scene.terminate("web-1");
  scene.withdraw("web-1");
  await until(() => coordinator.status().head === 1, "the withdrawal");
  for (const node of ["node1", "node2"]) await follow(node);
  const { epoch } = coordinator.status();
  const body = { version: 1, kind: "haproxy", basis: "state", epoch, applied: 1, known: 1, wait: 0 };
  await tell("haproxy/edge-1", JSON.stringify(body), { token: "token-proxy" });
  await until(() => coordinator.status().released === 1, "the release");
  await ask({ method: "POST", path: `/v1/pods/shop/web-1?uid=${uid}`, body: `overruled: ${address}\n` });
  const record = [...coordinator.terminations.values()].find((one) => one.uid === uid);
  assert.ok(record);
  const report = describeTermination(record, {
    isWhole: true,
    origin: record.deletedAt,
    began: record.deletedAt,
  });
  return {
    record: (report.falseAcknowledgers ?? []).join(),
    event: eventOf(report).find(({ reason }) => reason === "DrainOverruled")?.message ?? "",
    metric: await coordinator.metrics.registry.metrics(),
  };
}

describe("consumers that acknowledged a withdrawal falsely", () => {
  it("record, Event and metric name the proxy of the sender's node as a false acknowledger", async () => {
    const { record, event, metric } = await accusedOf("10.244.2.9");
    assert.equal(record, "kube-proxy/node2");
    assert.match(
      event,
      /from 10\.244\.2\.9 \(pod shop\/client on node2\) .*: kube-proxy\/node2 would have .* unless pod shop\/client dials/,
    );
    assert.match(metric, /^lameduck_releases_overruled_total\{consumer="kube-proxy\/node2"\} 1$/m);
  });

  it("the proxy of a node is the false acknowledger where the address is the node's own, also as IPv6 writes it", async () => {
    assert.equal((await accusedOf("::ffff:192.168.0.2")).record, "kube-proxy/node2");
  });

  it("no false acknowledger is named for an address of the pod's own node, from which the kubelet probes", async () => {
    for (const address of ["192.168.0.1", "10.244.1.1"]) {
      const { record, event, metric } = await accusedOf(address);
      assert.deepEqual([record, event], ["", ""], address);
      assert.doesNotMatch(metric, /^lameduck_releases_overruled_total\{/m);
    }
    assert.match((await accusedOf("10.244.2.1")).event, /\(node node2\) .*: kube-proxy\/node2 would have/);
  });

  it("an ingress proxy is the false acknowledger where the connection came from its pod", async () => {
    assert.equal((await accusedOf("10.244.1.7")).record, "haproxy/edge-1");
  });

  it("a false acknowledger is named neither before the release nor by a pod that is not being deleted, and once by each pod", async () => {
    const uids: string[] = [];
    await using all = await coordinating((scene) => {
      for (const name of ["node1", "node2"]) scene.node(name);
      // The third stays ready: without one proxies choose those that terminate.
      for (const name of ["web-1", "web-2", "web-3"]) uids.push(scene.pod(name));
    });
    const { scene, follow, ask, coordinator } = all;
    const blame = (at: number): Promise<unknown> =>
      ask({
        method: "POST",
        path: `/v1/pods/shop/web-${at + 1}?uid=${uids[at]}`,
        body: "overruled: 192.168.0.2\n",
      });
    const counted = async (): Promise<string[]> => {
      const metrics = await coordinator.metrics.registry.metrics();
      return [...metrics.matchAll(/^lameduck_releases_overruled_total\{consumer="(.*)"\} (\d+)$/gm)].map(
        ([, name, count]) => `${name} ${count}`,
      );
    };
    const bothFollow = (): Promise<unknown> => Promise.all(["node1", "node2"].map(follow));
    await bothFollow();
    await blame(0);
    assert.deepEqual(await counted(), [], "it serves");
    for (const [name, follows] of [
      ["web-1", true],
      ["web-2", false],
    ] as const) {
      scene.terminate(name);
      scene.withdraw(name);
      await until(() => coordinator.terminations.size === coordinator.status().head, "the withdrawal");
      if (follows) await bothFollow();
    }
    await until(() => coordinator.status().released === 1, "the release");
    for (const at of [1, 1, 0, 0]) await blame(at);
    assert.deepEqual(await counted(), ["kube-proxy/node2 1"]);
  });

  it("no false acknowledger is named where the address belongs to nobody in the cluster", async () => {
    const { record, event, metric } = await accusedOf("203.0.113.9");
    assert.equal(record, "");
    assert.match(event, /after it was released$/);
    assert.match(metric, /^lameduck_releases_overruled_total\{consumer="unknown"\} 1$/m);
  });
});
