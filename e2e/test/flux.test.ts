import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { stringify } from "yaml";
import type { KubernetesObject, Pod } from "@lameduck/kube";
import { injectedAnnotation, injectLabel, operatorNames } from "@lameduck/protocol";
import { builtInit, until, whyNot, whyNotChosen, type Cluster } from "../cluster/index.ts";
import { deployment, service } from "../cluster/workload.ts";
import { deliverImage, lameduck, publishedManifest } from "../injected/installation.ts";
import { configuration, software } from "../injected/software.ts";
import { Flux, type Ignore } from "./flux-program.ts";
import { resultsOf, RolloutProgram } from "./rollout-program.ts";
import { quietCluster } from "./support.ts";

const reason =
  (await whyNot()) ??
  (await whyNotChosen("flux")) ??
  (existsSync(builtInit) ? undefined : `${builtInit} has not been built`);

/** As docs/operate/gitops-and-ci.md says. */
const secretPaths: Ignore = {
  target: { kind: "ValidatingWebhookConfiguration", name: "held-deletions.lameduck.dev" },
  paths: ["/webhooks/0/clientConfig/service/path", "/webhooks/1/clientConfig/service/path"],
};

interface Webhooks extends KubernetesObject {
  readonly webhooks: readonly {
    readonly clientConfig: { readonly caBundle?: string; readonly service: { readonly path: string } };
  }[];
}

/** A namespace as Git has it. Each revision has pods of its own. */
function shopManifest(revision: string): string {
  const metadata = { name: "shop", labels: { [injectLabel]: "enabled" } };
  const web = deployment({ name: "web", replicas: 3, ...software.nginx?.pod, environment: {} });
  const { template } = web["spec"] as { template: { metadata: object } };
  template.metadata = { ...template.metadata, annotations: { revision } };
  const inside = [configuration, service("web"), web].map((one) => ({
    ...one,
    metadata: { ...(one["metadata"] as object), namespace: metadata.name },
  }));
  return [{ apiVersion: "v1", kind: "Namespace", metadata }, ...inside]
    .map((one) => stringify(one))
    .join("---\n");
}

describe("Lameduck and its workloads, applied by Flux", { skip: reason ?? false }, () => {
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

  /** What the API server asks, and by which authority it knows who answers. */
  const clientConfigs = async (): Promise<string[]> => {
    const group = "/apis/admissionregistration.k8s.io/v1";
    const all = [
      ...(await cluster.api.list<Webhooks>(`${group}/mutatingwebhookconfigurations`)),
      ...(await cluster.api.list<Webhooks>(`${group}/validatingwebhookconfigurations`)),
    ];
    return all
      .flatMap(({ webhooks }) => webhooks)
      .map(({ clientConfig }) => `${clientConfig.service.path} ${clientConfig.caBundle ?? ""}`);
  };

  it("Flux installs Lameduck, and finds nothing to change in what Lameduck writes itself", async () => {
    await flux.follows("lameduck", [secretPaths]);
    await flux.commits("lameduck", "one", {
      "install.yaml": await publishedManifest("install-acknowledgements-held-deletions.yaml"),
    });
    const isInForce = async (): Promise<boolean> => (await lameduck(cluster, "status")).code === 0;
    await until(isInForce, { what: "lameduck status to find everything in force" });
    const before = await clientConfigs();
    assert.ok(before.length > 0);
    for (const one of before) assert.match(one, /^\/\S+ \S{100}/, "an authority");
    assert.equal(before.filter((one) => one.startsWith("/hold ")).length, 0, "the paths hold a secret");
    for (let times = 0; times < 3; times++) assert.deepEqual(await flux.reconciles("lameduck"), []);
    assert.deepEqual(await clientConfigs(), before);
  });

  it("pods of a Deployment that Flux applies are injected, and the Deployment is as Git has it", async () => {
    const shop = (revision: string): Promise<void> =>
      flux.commits("shop", revision, { "shop.yaml": shopManifest(revision) });
    await flux.follows("shop");
    await shop("one");
    const pods = await cluster.api.list<Pod>("/api/v1/namespaces/shop/pods");
    const injected = pods.map(({ metadata }) => metadata.annotations?.[injectedAnnotation] !== undefined);
    assert.deepEqual(injected, [true, true, true]);
    for (let times = 0; times < 2; times++) assert.deepEqual(await flux.reconciles("shop"), []);

    const program = await RolloutProgram.on(cluster, folder);
    const json = join(folder, "web.json");
    const url = `service=${await program.address("web", "shop")}`;
    const load = ["--url", url, "--rps", "100", "--warm-up", "2s", "--timeout", "120s"];
    const watch = ["deployment/web", "-n", "shop", "--watch", "--yes", "--json", json];
    const running = program.start([...watch, ...load]);
    await running.said(/^watching/m);
    await shop("two");
    const { code, err, out } = await running.ended;
    const { results, observed } = await resultsOf(json);
    const [result] = results.remedies;
    // What nginx closes while a client uses it again is lost, whoever applies the pods.
    const { outcome } = observed;
    assert.deepEqual([outcome.kind, result?.terminations, result?.lostNew], ["finished", 3, 0], err + out);
    assert.equal(code, result?.lost === 0 ? 0 : 1, err + out);
    assert.deepEqual(await flux.reconciles("shop"), []);
  });

  it("what Flux removes is gone, and the workloads run on without Lameduck", async () => {
    const remove = ["delete", "kustomization", "lameduck", "-n", "kustomize-system", "--timeout=120s"];
    await cluster.kubectl(remove);
    const path = `/api/v1/namespaces/${operatorNames.namespace}/pods`;
    await until(async () => (await cluster.api.list(path)).length === 0, { what: "no pod of Lameduck left" });
    assert.deepEqual(await clientConfigs(), []);
    await cluster.kubectl(["rollout", "restart", "deployment/web", "-n", "shop"]);
    await cluster.kubectl(["rollout", "status", "deployment/web", "-n", "shop", "--timeout=90s"]);
  });
});
