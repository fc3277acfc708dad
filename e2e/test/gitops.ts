import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import type { KubernetesObject, Pod } from "@lameduck/kube";
import { injectedAnnotation, injectLabel } from "@lameduck/protocol";
import { builtInit, whyNot, whyNotChosen, type Cluster } from "../cluster/index.ts";
import { deployment, service } from "../cluster/workload.ts";
import { configuration, software } from "../injected/software.ts";
import { resultsOf, RolloutProgram } from "./rollout-program.ts";

/** Why the test of such a tool cannot run here; false where it can. */
export async function skipped(tool: "argo-cd" | "flux"): Promise<string | false> {
  const isBuilt = existsSync(builtInit);
  return (
    (await whyNot()) ?? (await whyNotChosen(tool)) ?? (isBuilt ? false : `${builtInit} has not been built`)
  );
}

interface Webhooks extends KubernetesObject {
  readonly webhooks: readonly {
    readonly clientConfig: { readonly caBundle?: string; readonly service: { readonly path: string } };
  }[];
}

/** What the API server asks, and by which authority it knows who answers: both are written by Lameduck, and are not in Git. */
export async function clientConfigs(cluster: Cluster): Promise<string[]> {
  const group = "/apis/admissionregistration.k8s.io/v1";
  const all = [
    ...(await cluster.api.list<Webhooks>(`${group}/mutatingwebhookconfigurations`)),
    ...(await cluster.api.list<Webhooks>(`${group}/validatingwebhookconfigurations`)),
  ];
  return all
    .flatMap(({ webhooks }) => webhooks)
    .map(({ clientConfig }) => `${clientConfig.service.path} ${clientConfig.caBundle ?? ""}`);
}

/** All of it has been written. */
export function assertWritten(configs: readonly string[]): void {
  assert.ok(configs.length > 0);
  for (const one of configs) assert.match(one, /^\/\S+ \S{100}/, "an authority");
  assert.equal(configs.filter((one) => one.startsWith("/hold ")).length, 0, "the paths hold a secret");
}

/** The namespace "shop" as Git has it, with the Deployment "web" of nginx. Each revision has pods of its own. */
export function shopManifest(revision: string): string {
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

/** Which pods of the shop are injected. */
export async function injectedInShop(cluster: Cluster): Promise<boolean[]> {
  const pods = await cluster.api.list<Pod>("/api/v1/namespaces/shop/pods");
  return pods.map(({ metadata }) => metadata.annotations?.[injectedAnnotation] !== undefined);
}

/** `lameduck rollout --watch` sees the shop's pods replaced while something else rolls them, and no new request lost. */
export async function assertRollsWithoutLoss(
  cluster: Cluster,
  folder: string,
  roll: () => Promise<void>,
): Promise<void> {
  const program = await RolloutProgram.on(cluster, folder);
  const json = join(folder, "web.json");
  const url = `service=${await program.address("web", "shop")}`;
  const load = ["--url", url, "--rps", "100", "--warm-up", "2s", "--timeout", "120s"];
  const watch = ["deployment/web", "-n", "shop", "--watch", "--yes", "--json", json];
  const running = program.start([...watch, ...load]);
  await running.said(/^watching/m);
  await roll();
  const { code, err, out } = await running.ended;
  const { results, observed } = await resultsOf(json);
  const [result] = results.remedies;
  // What nginx closes while a client uses it again is lost, whoever applies the pods.
  const { outcome } = observed;
  assert.deepEqual([outcome.kind, result?.terminations, result?.lostNew], ["finished", 3, 0], err + out);
  assert.equal(code, result?.lost === 0 ? 0 : 1, err + out);
}
