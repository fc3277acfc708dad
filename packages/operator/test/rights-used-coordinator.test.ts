import assert from "node:assert/strict";
import test from "node:test";
import { recognisedKinds } from "@lameduck/cluster";
import { Registry } from "@prometheus-io/client";
import { operatorNames } from "@lameduck/protocol";
import { Records } from "../../coordinator/src/records/records.ts";
import { WorkloadUids } from "../../cluster/src/events/workload-uids.ts";
import { defaultRetention } from "../../coordinator/src/records/writing/retention.ts";
import { coordinating } from "../../coordinator/test/fixture.ts";
import { coordinatorRights } from "../src/rights.ts";
import { OperatorApi, until } from "../../cluster/test/operator-api.ts";
import { UsedRights } from "./rights-used.ts";

const { namespace } = operatorNames;
const used = new UsedRights();

// Each of these modules runs its tests here once more: what they ask the API server for is counted.
await import("../../watcher/test/versions.test.ts");
await import("../../coordinator/test/records-recorder.test.ts");
await import("../../coordinator/test/records.test.ts");

test("one replica takes the Lease; workloads of every kind are looked up", async () => {
  await using api = await OperatorApi.start();
  const client = api.client();
  const records = new Records(client, {
    namespace,
    name: "one",
    registry: new Registry(),
    retention: defaultRetention,
    onProblem: () => undefined,
  });
  records.start();
  await until(() => records.isLeader, "the lease");
  const uids = new WorkloadUids(client);
  for (const kind of ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"])
    await uids.of("shop", { kind, name: "web" }, new AbortController().signal);
  await records.stop();
  client.close();
});

test("each kind that is recognised is followed where it is installed", async () => {
  const resources = recognisedKinds.map(({ path }) => {
    const [, , group, , plural] = path.split("/");
    return `${group}/${plural}`;
  });
  await using all = await coordinating(({ api }) => {
    for (const resource of resources) api.put(resource, "one", { metadata: { namespace: "shop" } });
  });
  const isWatched = (resource: string): boolean =>
    all.api.asked.some((one) => one.watch && one.resource === resource);
  await until(() => resources.every(isWatched), "a watch of each");
});

test("the coordinator's account may do what it does, and every right is used", () => {
  const account = { namespace, own: coordinatorRights.role, everywhere: coordinatorRights.clusterRole };
  assert.deepEqual(used.beyond(account), []);
  assert.deepEqual(used.unused(account), []);
});
