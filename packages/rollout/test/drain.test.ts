import assert from "node:assert/strict";
import { test } from "node:test";
import { drain, remove, type TargetReference } from "../src/index.ts";
import { FakeCluster, status } from "./fake-cluster.ts";
import { roll } from "./fake-rollout.ts";

const drainNode = (reference: TargetReference): ReturnType<typeof drain> => drain(reference, "n1");

async function cluster(replicas = 2): Promise<FakeCluster> {
  const cluster = await FakeCluster.start();
  cluster.deployment("web", { replicas });
  while (cluster.items("pods").length < replicas) await new Promise((resolve) => setTimeout(resolve, 5));
  return cluster;
}

const isCordoned = (api: FakeCluster): boolean =>
  (api.get("nodes", "n1")!["spec"] as { unschedulable?: boolean }).unschedulable === true;

test("a node that somebody else has cordoned before a drain stays cordoned", async () => {
  await using api = await cluster();
  api.change("nodes", "n1", { spec: { unschedulable: true } });
  const { run } = await roll(api, "deployment/web", drainNode);
  assert.deepEqual([run.outcome.kind, run.undone, isCordoned(api)], ["finished", undefined, true]);
});

test("a cordon that never arrived is not taken back, even if somebody else has cordoned the node meanwhile", async () => {
  await using api = await cluster();
  const forbidden = status(422, "Invalid", "not so");
  api.fault = ({ method, resource }) => {
    if (method !== "PATCH" || resource !== "nodes" || isCordoned(api)) return undefined;
    api.change("nodes", "n1", { spec: { unschedulable: true } });
    return forbidden;
  };
  const { run } = await roll(api, "deployment/web", drainNode);
  assert.deepEqual(
    [run.outcome.kind, run.undone, run.left, isCordoned(api)],
    ["failed", undefined, undefined, true],
  );
});

test("the mark of a cordon is removed together with the cordon", async () => {
  await using api = await cluster();
  const { run } = await roll(api, "deployment/web", drainNode);
  assert.deepEqual([run.undone, isCordoned(api)], ["uncordoned n1", false]);
  assert.deepEqual(api.get("nodes", "n1")?.metadata["annotations"], {});
});

test("an eviction that fails ends the evictions that still wait for their budget", async () => {
  await using api = await cluster(3);
  api.evictionsRefused = true;
  let first: string | undefined;
  let uncordons = 0;
  let late = 0;
  api.fault = ({ sub, name, method, resource }) => {
    if (method === "PATCH" && resource === "nodes" && isCordoned(api)) {
      // An eviction is asked for again after a second. The node stays cordoned for longer than that.
      return ++uncordons <= 4 ? status(503, "ServiceUnavailable", "not now") : undefined;
    }
    if (sub !== "eviction") return undefined;
    first ??= name;
    if (name === first) return status(400, "BadRequest", "no such thing");
    if (uncordons > 0) late++;
    return undefined;
  };
  const { run } = await roll(api, "deployment/web", drainNode);
  assert.deepEqual([run.outcome.kind, run.undone, late], ["failed", "uncordoned n1", 0]);
});

test("the summary of a removal counts the pods that were deleted, not those that were asked for", async () => {
  await using api = await cluster();
  const five = (reference: TargetReference): ReturnType<typeof remove> =>
    remove(reference, { how: "delete", pods: 5 });
  let action: ReturnType<typeof remove> | undefined;
  await roll(api, "deployment/web", (reference) => (action = five(reference)));
  assert.equal(action?.summary, "2 pods of deployment/web were deleted");
});

test("a user who may not list ReplicaSets can roll, without the check for neighbours", async () => {
  await using api = await cluster();
  let lists = 0;
  api.fault = ({ resource, name, watch }) =>
    resource === "apps/replicasets" && name === "" && !watch && lists++ === 0
      ? status(403, "Forbidden", "no")
      : undefined;
  const { warnings, run } = await roll(api, "deployment/web", drainNode);
  assert.equal(run.outcome.kind, "finished");
  assert.match(warnings.join("\n"), /ReplicaSets may not be listed/);
});
