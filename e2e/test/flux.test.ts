import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { operatorNames } from "@lameduck/protocol";
import { until, type Cluster } from "../cluster/index.ts";
import { deliverImage, lameduck, publishedManifest } from "../injected/installation.ts";
import { Flux, type Ignore } from "./flux-program.ts";
import {
  assertRollsWithoutLoss,
  assertWritten,
  clientConfigs,
  injectedInShop,
  shopManifest,
  skipped,
} from "./gitops.ts";
import { quietCluster } from "./support.ts";

const skip = await skipped("flux");

/** As docs/operate/gitops-and-ci.md says. */
const secretPaths: Ignore = {
  target: { kind: "ValidatingWebhookConfiguration", name: "held-deletions.lameduck.dev" },
  paths: ["/webhooks/0/clientConfig/service/path", "/webhooks/1/clientConfig/service/path"],
};

describe("Lameduck and its workloads, applied by Flux", { skip }, () => {
  let cluster: Cluster;
  let flux: Flux;
  let folder: string;

  before(async () => {
    cluster = await quietCluster({ nodes: 3 });
    folder = await mkdtemp(join(tmpdir(), "lameduck-flux-"));
    await deliverImage(cluster);
    flux = await Flux.on(cluster);
  });
  after(async () => {
    await flux?.[Symbol.asyncDispose]();
    await cluster[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  it("Flux installs Lameduck, and finds nothing to change in what Lameduck writes itself", async () => {
    await flux.follows("lameduck", [secretPaths]);
    await flux.commits("lameduck", "one", {
      "install.yaml": await publishedManifest("install-acknowledgements-held-deletions.yaml"),
    });
    const isInForce = async (): Promise<boolean> => (await lameduck(cluster, "status")).code === 0;
    await until(isInForce, { what: "lameduck status to find everything in force" });
    const before = await clientConfigs(cluster);
    assertWritten(before);
    for (let times = 0; times < 3; times++) assert.deepEqual(await flux.reconciles("lameduck"), []);
    assert.deepEqual(await clientConfigs(cluster), before);
  });

  it("pods of a Deployment that Flux applies are injected, and the Deployment is as Git has it", async () => {
    const shop = (revision: string): Promise<void> =>
      flux.commits("shop", revision, { "shop.yaml": shopManifest(revision) });
    await flux.follows("shop");
    await shop("one");
    assert.deepEqual(await injectedInShop(cluster), [true, true, true]);
    for (let times = 0; times < 2; times++) assert.deepEqual(await flux.reconciles("shop"), []);

    await assertRollsWithoutLoss(cluster, folder, () => shop("two"));
    assert.deepEqual(await flux.reconciles("shop"), []);
  });

  it("what Flux removes is gone, and the workloads run on without Lameduck", async () => {
    const remove = ["delete", "kustomization", "lameduck", "-n", "kustomize-system", "--timeout=120s"];
    await cluster.kubectl(remove);
    const path = `/api/v1/namespaces/${operatorNames.namespace}/pods`;
    await until(async () => (await cluster.api.list(path)).length === 0, { what: "no pod of Lameduck left" });
    assert.deepEqual(await clientConfigs(cluster), []);
    await cluster.kubectl(["rollout", "restart", "deployment/web", "-n", "shop"]);
    await cluster.kubectl(["rollout", "status", "deployment/web", "-n", "shop", "--timeout=90s"]);
  });
});
