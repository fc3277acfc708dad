/** What is there before a run, or goes on beside it, and is none of its business. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { findTarget, parseTarget, remove, restart, rolloutResult, watch } from "../src/index.ts";
import { FakeCluster, namespace, status } from "./fake-cluster.ts";
import { roll, type Rolled } from "./fake-rollout.ts";

const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

async function clusterOf(pods = 2): Promise<FakeCluster> {
  const cluster = await FakeCluster.start();
  cluster.deployment("web", { replicas: pods });
  while (cluster.items("pods").length < pods) await pause(5);
  return cluster;
}

const podsOf = (cluster: FakeCluster): string[] => cluster.items("pods").map(({ metadata }) => metadata.name);

const terminations = ({ run }: Rolled): number =>
  rolloutResult(run, { action: watch({ kind: "deployment", name: "web", namespace: "shop" }), seed: 1 })
    .terminations;

/** As on a node that is gone: nobody ends it. */
function neverEnd(cluster: FakeCluster, name: string): void {
  cluster.termination = 600_000;
  cluster.terminate(name);
  cluster.termination = 50;
}

for (const [title, action] of [
  ["a restart", restart],
  ["the deletion of a pod", ((reference) => remove(reference, { how: "delete", pods: 1 })) as typeof restart],
] as const)
  test(`${title} finishes beside an older pod that terminates and never ends`, async () => {
    await using cluster = await clusterOf();
    const [stuck = ""] = podsOf(cluster);
    neverEnd(cluster, stuck);
    while (podsOf(cluster).length < 3) await pause(5);
    const rolled = await roll(cluster, "deployment/web", action);
    assert.deepEqual(rolled.run.outcome, { kind: "finished" });
    const deletions = rolled.run.recording.podEvents.filter(({ type }) => type === "deleted");
    const ofStuck = deletions.filter(({ pod }) => pod === stuck);
    assert.deepEqual(
      ofStuck.map((event) => event.type === "deleted" && event.why),
      ["before the run"],
    );
    assert.equal(terminations(rolled), deletions.length - 1);
  });

test("a new pod of an autoscaler does not begin the rollout that is watched for", async () => {
  await using cluster = await clusterOf();
  let rolled = false;
  const watching = roll(cluster, "deployment/web", watch).finally(() => (rolled = true));
  while (!cluster.asked.some(({ resource, url }) => resource === "pods" && url.searchParams.has("watch")))
    await pause(5);
  cluster.change("apps/deployments", "web", { metadata: { generation: 2 }, spec: { replicas: 3 } });
  cluster.deployment("other");
  while (podsOf(cluster).filter((name) => name.startsWith("web")).length < 3) await pause(5);
  await pause(700);
  assert.equal(rolled, false);
  cluster.terminate(podsOf(cluster)[0] ?? "");
  const result = await watching;
  assert.deepEqual(result.run.outcome, { kind: "finished" });
  assert.equal(terminations(result), 1);
});

test("a pod that is deleted by force counts as a termination of a watched run", async () => {
  await using cluster = await clusterOf();
  const watching = roll(cluster, "deployment/web", watch);
  while (!cluster.asked.some(({ resource, url }) => resource === "pods" && url.searchParams.has("watch")))
    await pause(5);
  // What comes before the load is counted is not the run's.
  await pause(500);
  cluster.remove("pods", podsOf(cluster)[0] ?? "");
  cluster.deployment("other");
  const result = await watching;
  assert.deepEqual(result.run.outcome, { kind: "finished" });
  assert.equal(terminations(result), 1);
});

for (const when of ["from the beginning", "in the middle"])
  test(`a run goes on when nodes and events may not be read ${when}`, async () => {
    await using cluster = await clusterOf();
    const refused = (resource: string): boolean => resource === "nodes" || resource === "events";
    let since = when === "in the middle" ? Infinity : 0;
    cluster.fault = ({ resource, method }) => {
      if (method === "PATCH") since = 0;
      if (since !== 0 || !refused(resource)) return undefined;
      return status(403, "Forbidden", `${resource} is forbidden`);
    };
    const rolled = await roll(cluster, "deployment/web", restart);
    assert.deepEqual(rolled.run.outcome, { kind: "finished" });
    assert.equal(terminations(rolled), 2);
    if (when === "from the beginning")
      assert.match(rolled.run.notes.join(), /nodes could not be followed any longer: .*forbidden/);
  });

test("a pod is followed without its successor when ReplicaSets may not be listed", async () => {
  await using cluster = await clusterOf(1);
  const client = cluster.client();
  const reference = parseTarget(`pod/${podsOf(cluster)[0]}`, namespace);
  const { owner, controller } = await findTarget(client, reference, { replicaSets: false });
  assert.equal(owner, undefined);
  assert.equal(controller?.kind, "ReplicaSet");
  client.close();
});

test("an Argo Rollout is restarted at the time of the server's clock", async () => {
  await using cluster = await FakeCluster.start();
  cluster.clockAhead = -300_000;
  cluster.deployment("web", { group: "argoproj.io", resource: "rollouts", kind: "Rollout" });
  while (podsOf(cluster).length < 2) await pause(5);
  await roll(cluster, "rollout/web", restart);
  const { restartAt } = cluster.get("argoproj.io/rollouts", "web")!["spec"] as { restartAt: string };
  assert.ok(Math.abs(Date.parse(restartAt) - cluster.now()) < 60_000, restartAt);
});

test("an Argo Rollout has the Services that its controller switches by a label of its own, and a Deployment has not", async () => {
  await using cluster = await FakeCluster.start();
  cluster.deployment("web", { group: "argoproj.io", resource: "rollouts", kind: "Rollout" });
  cluster.deployment("plain", { labels: { app: "web" } });
  for (const app of ["web", "other"])
    cluster.put("services", app, { spec: { selector: { app, "rollouts-pod-template-hash": "7d" } } });
  const client = cluster.client();
  const servicesOf = async (text: string): Promise<readonly string[]> =>
    (await findTarget(client, parseTarget(text, namespace))).services;
  assert.deepEqual(await servicesOf("rollout/web"), ["web"]);
  assert.deepEqual(await servicesOf("deployment/plain"), []);
  client.close();
});

test("an Argo Rollout that pauses says once what it waits for, and is not finished", async () => {
  await using cluster = await FakeCluster.start();
  cluster.deployment("web", { group: "argoproj.io", resource: "rollouts", kind: "Rollout" });
  while (podsOf(cluster).length < 2) await pause(5);
  const rolling = roll(cluster, "rollout/web", restart, { timeoutMs: 1_500 });
  while (!cluster.asked.some(({ method }) => method === "PATCH")) await pause(5);
  const pauseConditions = [{ reason: "CanaryPauseStep", startTime: "2026-01-01T00:00:00Z" }];
  cluster.change("argoproj.io/rollouts", "web", {
    status: { pauseConditions, currentPodHash: "7d", stableRS: "5f" },
  });
  const { run, said } = await rolling;
  assert.ok(run.outcome.kind === "not finished");
  assert.match(run.outcome.words, /paused \(CanaryPauseStep\): it waits for a promotion/);
  assert.equal(
    said.filter((line) => /^note: .*it waits for a promotion$/.test(line)).length,
    1,
    said.join("\n"),
  );
});

test("a rollout whose new pod waits for a readiness gate that nobody sets ends, and names the gate", async () => {
  await using cluster = await clusterOf();
  cluster.gate = "target-health.elbv2.k8s.aws/web";
  const { run } = await roll(cluster, "deployment/web", restart, { timeoutMs: 1_500 });
  const words =
    /its containers are ready, and readiness gate target-health\.elbv2\.k8s\.aws\/web has not passed/;
  assert.ok(run.outcome.kind === "not finished");
  assert.match(run.outcome.waiting.join("\n"), words);
  const { newPods = [] } = rolloutResult(run, {
    action: watch({ kind: "deployment", name: "web", namespace: "shop" }),
    seed: 1,
  });
  assert.ok(newPods.some(({ readyAt, waitsFor = "" }) => readyAt === undefined && words.test(waitsFor)));
});
