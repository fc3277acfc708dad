import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { defaultRepository } from "@lameduck/operator/image";
import { operatorNames } from "@lameduck/protocol";
import { until, type Cluster } from "../cluster/index.ts";
import { chart, deliverImage, lameduck } from "../injected/installation.ts";
import { ArgoCd } from "./argo-cd-program.ts";
import {
  assertRollsWithoutLoss,
  assertWritten,
  clientConfigs,
  injectedInShop,
  shopManifest,
  skipped,
} from "./gitops.ts";
import { quietCluster } from "./support.ts";

const skip = await skipped("argo-cd");

const path = "packages/operator/chart/lameduck";
const { namespace, workload } = operatorNames;

/** As docs/operate/gitops-and-ci.md says. */
const ignoreDifferences = [
  { group: "admissionregistration.k8s.io", kind: "*", managedFieldsManagers: ["lameduck-operator"] },
];

/** The chart's values, with everything that makes Lameduck write into what Git holds. */
const values = (parts: object): object => ({
  valuesObject: { image: { repository: defaultRepository }, ...parts },
});

describe("Lameduck and its workloads, applied by Argo CD", { skip }, () => {
  let cluster: Cluster;
  let argo: ArgoCd;
  let folder: string;

  before(async () => {
    cluster = await quietCluster({ nodes: 3 });
    folder = await mkdtemp(join(tmpdir(), "lameduck-argo-cd-"));
    await deliverImage(cluster);
    argo = await ArgoCd.on(cluster);
    await argo.adds(chart, path);
    await argo.commits("Lameduck", { "shop/shop.yaml": shopManifest("one") });
  });
  after(async () => {
    await argo?.[Symbol.asyncDispose]();
    await cluster[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  const follow = (parts: object): Promise<void> =>
    argo.follows("lameduck", { path, destination: namespace, helm: values(parts), ignoreDifferences });

  /** Compares again and again. @returns what Argo CD has found to change meanwhile. */
  async function changes(name: string): Promise<readonly string[]> {
    const first = await argo.compares(name);
    let last = first;
    for (let times = 0; times < 3; times++) last = await argo.compares(name);
    return last.syncs === first.syncs ? last.differing : [...last.differing, `${last.syncs} syncs`];
  }

  it("Argo CD installs Lameduck from its chart, and finds nothing to change in what Lameduck writes itself", async () => {
    await follow({ acknowledgements: { enabled: true }, heldDeletions: { enabled: true } });
    const isInForce = async (): Promise<boolean> => (await lameduck(cluster, "status")).code === 0;
    await until(isInForce, { what: "lameduck status to find everything in force" });
    const before = await clientConfigs(cluster);
    assertWritten(before);
    assert.deepEqual(await changes("lameduck"), []);
    assert.deepEqual(await clientConfigs(cluster), before);
  });

  it("pods of a Deployment that Argo CD applies are injected, and the Deployment is as Git has it", async () => {
    await argo.follows("shop", { path: "shop", destination: "shop" });
    assert.deepEqual(await injectedInShop(cluster), [true, true, true]);
    assert.deepEqual(await changes("shop"), []);
    await assertRollsWithoutLoss(cluster, folder, async () => {
      await argo.commits("two", { "shop/shop.yaml": shopManifest("two") });
      await argo.syncs("shop");
    });
    assert.deepEqual(await changes("shop"), []);
  });

  it("a part that Git does not name any more is removed at once", async () => {
    const parts = async (): Promise<string[]> => {
      const all = await cluster.kubectl(["get", "deployments,daemonsets", "-A", "-o", "name"]);
      return all.split("\n").filter((name) => name.includes("lameduck"));
    };
    assert.equal((await parts()).length, 3, "webhook, coordinator and watchers");
    await follow({});
    await until(async () => (await parts()).length === 1, { what: "no coordinator and no watchers" });
    assert.deepEqual(await parts(), [`deployment.apps/${workload}`]);
  });

  it("once the Application is deleted the CRDs are left, and the workloads run on without Lameduck", async () => {
    const remove = ["delete", "application", "lameduck", "-n", "argocd", "--timeout=120s"];
    await cluster.kubectl(remove);
    const pods = `/api/v1/namespaces/${namespace}/pods`;
    await until(async () => (await cluster.api.list(pods)).length === 0, { what: "no pod of Lameduck left" });
    assert.deepEqual(await clientConfigs(cluster), []);
    assert.match(await cluster.kubectl(["get", "crd", "-o", "name"]), /drainpolicies/);
    await cluster.kubectl(["rollout", "restart", "deployment/web", "-n", "shop"]);
    await cluster.kubectl(["rollout", "status", "deployment/web", "-n", "shop", "--timeout=90s"]);
  });
});
