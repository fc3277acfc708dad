import assert from "node:assert/strict";
import { test } from "node:test";
import { verdictOf } from "@lameduck/accounting";
import type { Change, Pod } from "@lameduck/kube";
import { findTarget, parseTarget, remove, restart, rolloutResult } from "../src/index.ts";
import { OwnedPods } from "../src/following/ownership.ts";
import { FakeCluster, namespace } from "./fake-cluster.ts";
import { FakeService, roll, type Rolled } from "./fake-rollout.ts";

const removeOne: typeof restart = (reference) => remove(reference, { how: "delete", pods: 1 });
const evictAll: typeof restart = (reference) => remove(reference, { how: "evict", pods: "all" });

function terminated({ run }: Rolled): string[] {
  return rolloutResult(run, { action: restart(parseTarget("deployment/web", namespace)), seed: 1 })
    .each.map(({ pod }) => pod)
    .sort();
}

const deletions = (cluster: FakeCluster): string[] =>
  cluster.asked
    .filter(({ method, sub }) => method === "DELETE" || sub === "eviction")
    .map(({ name }) => name);

/** A neighbour with the same labels, older than the target's pods, so that it would be taken first. */
async function withNeighbour(): Promise<FakeCluster> {
  const cluster = await FakeCluster.start();
  cluster.put("apps/replicasets", "neighbour", { metadata: { labels: { app: "web" } } });
  const set = cluster.get("apps/replicasets", "neighbour")!;
  for (const name of ["neighbour-1", "neighbour-2"])
    cluster.pod(
      name,
      { app: "web" },
      { kind: "ReplicaSet", name: "neighbour", uid: set.metadata.uid, controller: true },
    );
  cluster.pod("orphan", { app: "web" });
  return cluster;
}

async function settled(cluster: FakeCluster, name: string, pods: number): Promise<void> {
  while (cluster.items("pods").filter(({ metadata }) => metadata.name.startsWith(name)).length < pods)
    await new Promise((resolve) => setTimeout(resolve, 5));
}

test("only pods of the target are deleted, whoever else has the same labels", async () => {
  await using cluster = await withNeighbour();
  cluster.deployment("web");
  await settled(cluster, "web-", 2);
  const rolled = await roll(cluster, "deployment/web", removeOne);
  assert.equal(rolled.run.outcome.kind, "finished");
  assert.deepEqual(
    deletions(cluster).map((name) => name.replace(/-h\d+-\d+$/, "")),
    ["web"],
  );
  assert.equal(terminated(rolled).length, 1);
  assert.ok(
    rolled.warnings.some((warning) =>
      /selector.*neighbour-1.*ReplicaSet\/neighbour.*orphan.*left alone/.test(warning),
    ),
    rolled.warnings.join("\n"),
  );
});

test("every pod of the target is evicted, and none of its neighbours", async () => {
  await using cluster = await withNeighbour();
  cluster.deployment("web", { replicas: 3 });
  await settled(cluster, "web-", 3);
  const rolled = await roll(cluster, "deployment/web", evictAll);
  assert.equal(rolled.run.outcome.kind, "finished");
  assert.equal(deletions(cluster).filter((name) => !name.startsWith("web-")).length, 0);
  assert.equal(terminated(rolled).length, 3);
});

test("a restart finishes beside a neighbour with the same labels", async () => {
  await using cluster = await withNeighbour();
  cluster.deployment("web");
  await settled(cluster, "web-", 2);
  const rolled = await roll(cluster, "deployment/web", restart);
  assert.deepEqual(rolled.run.outcome, { kind: "finished" });
  assert.equal(terminated(rolled).length, 2);
});

test("the end of a neighbour's pod during a rollout is no termination of the target", async () => {
  await using cluster = await withNeighbour();
  cluster.deployment("web");
  await settled(cluster, "web-", 2);
  const rolling = roll(cluster, "deployment/web", restart);
  cluster.terminate("neighbour-2");
  assert.deepEqual(
    terminated(await rolling).filter((name) => !name.startsWith("web-")),
    [],
  );
});

for (const kind of ["DaemonSet", "StatefulSet"] as const)
  test(`the pods of a ${kind} are recognised by its UID`, async () => {
    await using cluster = await withNeighbour();
    cluster.direct(kind, "web");
    const rolled = await roll(cluster, `${kind.toLowerCase()}/web`, evictAll);
    assert.deepEqual(rolled.run.outcome, { kind: "finished" });
    assert.deepEqual(deletions(cluster).sort(), ["web-0", "web-1"]);
  });

test("the Deployment of a pod is found by UID and not by its name", async () => {
  await using cluster = await withNeighbour();
  cluster.deployment("web");
  await settled(cluster, "web-", 2);
  const [own] = cluster.items("pods").filter(({ metadata }) => metadata.name.startsWith("web-"));
  const client = cluster.client();
  const found = await findTarget(client, parseTarget(`pod/${own?.metadata.name}`, namespace));
  assert.deepEqual(found.owner?.reference, { kind: "deployment", name: "web", namespace });
  // A ReplicaSet that is called as one of the Deployment's, and is not.
  cluster.put("apps/replicasets", "web-own", { metadata: { labels: { app: "web" } } });
  const set = cluster.get("apps/replicasets", "web-own")!;
  cluster.pod(
    "web-own-1",
    { app: "web", "pod-template-hash": "own" },
    { kind: "ReplicaSet", name: "web-own", uid: set.metadata.uid, controller: true },
  );
  const lone = await findTarget(client, parseTarget("pod/web-own-1", namespace));
  assert.equal(lone.owner, undefined);
  client.close();
});

test("an Argo Rollout is followed, and restarted in the way of its own controller", async () => {
  await using cluster = await withNeighbour();
  cluster.deployment("web", { group: "argoproj.io", resource: "rollouts", kind: "Rollout" });
  await settled(cluster, "web-", 2);
  const rolled = await roll(cluster, "rollout/web", restart);
  assert.deepEqual(rolled.run.outcome, { kind: "finished" });
  assert.equal(terminated(rolled).length, 2);
  const { restartAt } = cluster.get("argoproj.io/rollouts", "web")!["spec"] as { restartAt?: string };
  assert.ok(restartAt);
});

test("a rollout whose target is deleted meanwhile ends with that outcome", async () => {
  await using cluster = await FakeCluster.start();
  cluster.deployment("web");
  await settled(cluster, "web-", 2);
  cluster.termination = 60_000;
  const rolling = roll(cluster, "deployment/web", restart);
  while (!cluster.asked.some(({ method }) => method === "PATCH"))
    await new Promise((resolve) => setTimeout(resolve, 5));
  cluster.remove("apps/deployments", "web");
  const { outcome } = (await rolling).run;
  assert.equal(outcome.kind, "not finished");
  assert.match(outcome.words, /deployment\/web was deleted/);
});

test("a pod that loses its labels or its controller is no termination, and the rollout does not wait for it", async () => {
  await using cluster = await FakeCluster.start();
  cluster.deployment("web", { replicas: 3 });
  await settled(cluster, "web-", 3);
  const [relabelled = "", orphaned = ""] = cluster.items("pods").map(({ metadata }) => metadata.name);
  cluster.fault = ({ method }) => {
    if (method !== "PATCH") return undefined;
    cluster.relabel(relabelled, { app: "quarantine" });
    cluster.change("pods", orphaned, { metadata: { ownerReferences: [] } });
    return undefined;
  };
  const rolled = await roll(cluster, "deployment/web", restart);
  assert.deepEqual(rolled.run.outcome, { kind: "finished" });
  const left = rolled.said.filter((line) => line.includes("no longer belongs to deployment/web"));
  assert.equal(left.length, 2, rolled.said.join());
  for (const name of [relabelled, orphaned])
    assert.ok(!terminated(rolled).includes(name), terminated(rolled).join());
});

for (const without of [[], ["app"], ["pod-template-hash"]])
  test(`a pod whose deletion is held, ${without.length === 0 ? "with its labels" : `without the label ${without.join()}`}, is followed to its end`, async () => {
    await using cluster = await FakeCluster.start();
    cluster.deployment("web");
    await settled(cluster, "web-", 2);
    cluster.held = { without, for: 400 };
    await using service = await FakeService.start(cluster);
    const rolled = await roll(cluster, "deployment/web", restart, { load: service.load() });
    assert.deepEqual(rolled.run.outcome, { kind: "finished" });
    assert.equal(terminated(rolled).length, 2);
    const result = rolloutResult(rolled.run, {
      action: restart(parseTarget("deployment/web", namespace)),
      seed: 1,
    });
    assert.deepEqual([result.untested, verdictOf(result)], [0, "no loss"]);
    const held = rolled.said.filter((line) => line.includes("its deletion held"));
    assert.equal(held.length, 2, rolled.said.join());
    assert.ok(rolled.said.every((line) => !line.includes("no longer belongs")));
  });

test("only the first and the last change of a pod with an unknown ReplicaSet wait, and none once the pod is gone", async () => {
  await using cluster = await FakeCluster.start();
  cluster.deployment("web");
  await settled(cluster, "web-", 2);
  const target = await findTarget(cluster.client(), parseTarget("deployment/web", namespace));
  const [set] = cluster.items("apps/replicasets");
  const [pod] = cluster.items("pods") as unknown as Pod[];
  assert.ok(set && pod);
  const taken: number[] = [];
  const owned = new OwnedPods(target, ({ at }) => taken.push(at));
  const change = (at: number, type: "there" | "gone" = "there", uid = pod.metadata.uid): Change<Pod> => ({
    type,
    object: { ...pod, metadata: { ...pod.metadata, uid } },
    at,
    since: at,
    live: true,
  });
  for (let at = 1; at <= 1_000; at++) owned.takePod(change(at));
  owned.takePod(change(2_000, "there", "other"));
  owned.takePod(change(2_001, "gone", "other"));
  owned.takeSet({ type: "there", object: set, at: 3_000, since: 3_000, live: true });
  assert.deepEqual(taken, [1, 1_000]);
});
