import assert from "node:assert/strict";
import test from "node:test";
import { CertificateKeeper } from "../../webhook/src/certificates/keeper.ts";
import { ClusterView } from "../../webhook/src/cluster-view.ts";
import { ownerOf } from "../../webhook/src/deletions/facts.ts";
import { exposingKinds } from "@lameduck/cluster";
import { operatorNames } from "@lameduck/protocol";
import { workloadAuditRights, heldDeletionRights, operatorRights, surgeRights } from "../src/rights.ts";
import { configurations, OperatorApi, until } from "../../cluster/test/operator-api.ts";
import { UsedRights } from "./rights-used.ts";

const { namespace } = operatorNames;
const used = new UsedRights();

// Each of these modules runs its tests here once more: what they ask the API server for is counted.
await import("../../webhook/test/init-volume.test.ts");
await import("../../webhook/test/deletions-caller.test.ts");
await import("../../webhook/test/deletions-evictions.test.ts");
await import("./workload-audit.test.ts");

test("the certificate is made, told and renewed; owners of every kind are looked at", async () => {
  await using api = await OperatorApi.start();
  for (const resource of configurations)
    api.put(resource, operatorNames.configuration, { webhooks: [{ name: "a", clientConfig: {} }] });
  const client = api.client();
  const shown: string[] = [];
  const keeper = new CertificateKeeper(client, {
    namespace,
    secret: operatorNames.certificateSecret,
    names: ["localhost"],
    certificateLifetime: 2_000,
    authorityLifetime: 20_000,
    onCertificate: ({ cert }) => void shown.push(cert),
    onProblem: () => undefined,
  });
  await keeper.start();
  for (const kind of ["StatefulSet", "ReplicaSet", "ReplicationController"]) {
    const owner = { kind, name: "web", uid: "u", controller: true };
    const metadata = { name: "web-0", namespace: "shop", uid: "p", ownerReferences: [owner] };
    await ownerOf(client, { metadata, spec: { containers: [] } });
  }
  await until(() => shown.length > 1, "renewed");
  await keeper.stop();
  client.close();
});

test("each kind of another API group that leads to Services is followed where it is installed", async () => {
  await using api = await OperatorApi.start();
  const resources = exposingKinds
    .map(({ path }) => path.split("/").slice(2))
    .map(([group, , plural]) => `${group}/${plural}`);
  for (const resource of resources) api.put(resource, "one", { metadata: { namespace: "shop" } });
  const client = api.client();
  const view = new ClusterView(client, { onProblem: () => undefined });
  view.start();
  const isWatched = (resource: string): boolean =>
    api.asked.some((one) => one.watch && one.resource === resource);
  await until(() => resources.every(isWatched), "a watch of each");
  await view.stop();
  client.close();
});

test("the webhook's account may do what it does, and every right is used", () => {
  const account = {
    namespace,
    own: [...operatorRights.role, ...operatorRights.certificates],
    everywhere: [
      ...operatorRights.clusterRole,
      ...workloadAuditRights,
      ...heldDeletionRights,
      ...surgeRights,
    ],
  };
  assert.deepEqual(used.beyond(account), []);
  assert.deepEqual(used.unused(account), [
    // Init volumes are applied, and the API server asks for this right where there is none yet.
    "create configmaps",
    // An Event that is repeated a minute later, as records.test.ts shows it for those of the coordinator.
    "patch events",
  ]);
});
