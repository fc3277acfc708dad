import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { defaultRepository } from "@lameduck/operator/image";
import { operatorNames } from "@lameduck/protocol";
import { parse } from "yaml";
import { until, type Cluster } from "../cluster/index.ts";
import { chart, deliverImage, helm, lameduck, publishedManifest } from "../injected/installation.ts";
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

/** What docs/operate/gitops-and-ci.md has a Kustomization and a HelmRelease say. */
const [kustomization, helmRelease] = await documentedSpecs();

async function documentedSpecs(): Promise<{ readonly ignore?: readonly Ignore[] }[]> {
  const file = join(import.meta.dirname, "..", "..", "docs", "operate", "gitops-and-ci.md");
  const page = await readFile(file, "utf8");
  const flux = page.slice(page.indexOf("\n## Flux\n"), page.indexOf("\n## Audit in CI\n"));
  const blocks = [...flux.matchAll(/```yaml\n(.*?)```/gs)];
  return blocks.map(([, text = ""]) => (parse(text) as { readonly spec: object }).spec);
}

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

  const inForce = (): Promise<true> =>
    until(async () => (await lameduck(cluster, "status")).code === 0, { what: "all of Lameduck in force" });

  it("Flux installs Lameduck, and finds nothing to change in what Lameduck writes itself", async () => {
    await flux.follows("lameduck", kustomization?.ignore);
    await flux.commits("lameduck", "one", {
      "install.yaml": await publishedManifest("install-acknowledgements-held-deletions.yaml"),
    });
    await inForce();
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

  it("Flux installs and upgrades the chart with Helm, and finds no drift in what Lameduck writes itself", async () => {
    const { namespace } = operatorNames;
    await cluster.kubectl(["wait", "--for=delete", `namespace/${namespace}`, "--timeout=120s"]);
    const release = async (version: string, settings: object): Promise<void> => {
      await helm(cluster, "package", chart, "--version", version, "--destination", folder);
      const parts = { acknowledgements: { enabled: true }, heldDeletions: { enabled: true } };
      await flux.releases("lameduck", version, join(folder, `lameduck-${version}.tgz`), {
        ...helmRelease,
        targetNamespace: namespace,
        install: { createNamespace: true },
        values: { image: { repository: defaultRepository }, ...parts, ...settings },
      });
    };
    await release("0.0.1", {});
    await cluster.kubectl(["rollout", "restart", "deployment/web", "-n", "shop"]);
    await inForce();
    const before = await clientConfigs(cluster);
    assertWritten(before);
    await release("0.0.2", { logLevel: "debug" });
    const isCorrected = async (): Promise<boolean> => isDeepStrictEqual(await clientConfigs(cluster), before);
    await until(isCorrected, { what: "the same authorities and paths as before the upgrade" });
    for (let times = 0; times < 3; times++)
      assert.deepEqual(await flux.reconciles("lameduck", "helmrelease"), []);
    assert.deepEqual(await clientConfigs(cluster), before);

    // What nobody but Git decides it does put right.
    const webhook = ["deployment", operatorNames.workload, "-n", namespace];
    await cluster.kubectl(["label", ...webhook, "app.kubernetes.io/name=other", "--overwrite"]);
    assert.match((await flux.reconciles("lameduck", "helmrelease")).join("\n"), /has been corrected/);
  });
});
