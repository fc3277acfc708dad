import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { injectedAnnotation, injectLabel, operatorNames } from "@lameduck/protocol";
import type { KubernetesObject, Pod } from "@lameduck/kube";
import { builtInit, until, whyNot, type Cluster } from "../cluster/index.ts";
import { deployment, service } from "../cluster/workload.ts";
import {
  chart,
  deliverImage,
  helm,
  injects,
  installed,
  lameduck,
  lameduckDoes,
} from "../injected/installation.ts";
import { configuration, software } from "../injected/software.ts";
import { runScenario } from "../matrix/run.ts";
import { scenarios } from "../matrix/scenarios.ts";
import { existsSync } from "node:fs";
import { apply, quietCluster, rolledOut } from "./support.ts";

const reason = (await whyNot()) ?? (existsSync(builtInit) ? undefined : `${builtInit} has not been built`);
const { namespace, workload } = operatorNames;
const release = ["lameduck", chart, "-n", namespace] as const;

describe("Lameduck in a cluster", { skip: reason ?? false }, () => {
  let cluster: Cluster;

  before(async () => {
    cluster = await quietCluster({ nodes: 3, proxyLag: ["1s", "2s", "3s"] });
    await apply(cluster, configuration);
    await deliverImage(cluster);
  });
  after(() => cluster[Symbol.asyncDispose]());

  const pods = async (): Promise<readonly Pod[]> =>
    (await cluster.api.list<Pod>("/api/v1/namespaces/default/pods")).filter(
      ({ metadata }) => metadata.deletionTimestamp === undefined,
    );
  const injected = async (): Promise<boolean[]> =>
    (await pods()).map(({ metadata }) => metadata.annotations?.[injectedAnnotation] !== undefined);
  const restart = async (): Promise<void> => {
    await cluster.kubectl(["rollout", "restart", "deployment/web"]);
    await rolledOut(cluster, "web");
  };
  it("Lameduck installs the chart with Helm under Pod Security restricted, and injects what a Service leads to", async () => {
    await helm(cluster, "lint", "--strict", chart);
    const withCertManager = await helm(cluster, "template", chart, "--set", "certManager.enabled=true");
    assert.doesNotMatch(withCertManager, /^ +- secrets$/m, "its certificate is mounted");
    await cluster.kubectl(["create", "namespace", namespace]);
    await cluster.kubectl(["label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted"]);
    await helm(cluster, "install", ...release, "--wait", "--timeout", "120s");
    await cluster.kubectl(["label", "namespace", "default", `${injectLabel}=enabled`]);
    await injects(cluster, "webhook");
    const { nginx } = software;
    await apply(cluster, service("web"));
    await apply(cluster, deployment({ name: "web", replicas: 3, ...nginx?.pod, environment: {} }));
    await rolledOut(cluster, "web");
    assert.deepEqual(await injected(), [true, true, true]);
    const said = await lameduckDoes(cluster, "status");
    assert.match(
      said.out,
      /2 of 2 replicas ready\n {2}webhook: in force.*\n {2}installed by Helm, release lameduck-system\/lameduck/,
    );
    assert.match(said.out, /namespace default: 3 of 3 pods with Lameduck/);
    const refused = await lameduck(cluster, "install", "--yes");
    assert.match(refused.err, /LAMEDUCK_OF_HELM/);
  });

  it("Lameduck goes on through an upgrade: the authority stays, and restarted pods are injected", async () => {
    await helm(cluster, "upgrade", ...release, "--set", "logLevel=debug", "--wait", "--timeout", "120s");
    await injects(cluster, "webhook");
    await restart();
    assert.deepEqual(await injected(), [true, true, true]);
  });

  it("Lameduck blocks nothing when every replica is down: pods start as they are written", async () => {
    await cluster.kubectl(["scale", `deployment/${workload}`, "-n", namespace, "--replicas=0"]);
    const path = `/api/v1/namespaces/${namespace}/pods`;
    await until(async () => (await cluster.api.list(path)).length === 0, { what: "no replica left" });
    await restart();
    assert.deepEqual(await injected(), [false, false, false]);
    const said = await lameduck(cluster, "status");
    assert.match(said.out, /deployment\/web: 3 without: it was made before/);
    assert.equal(said.code, 1);
  });

  it("Lameduck is uninstalled with nothing left, and harms no pod", async () => {
    await cluster.kubectl(["scale", `deployment/${workload}`, "-n", namespace, "--replicas=2"]);
    await injects(cluster, "webhook");
    await restart();
    assert.deepEqual(await injected(), [true, true, true]);
    await helm(cluster, "uninstall", "lameduck", "-n", namespace, "--wait");
    const definitions = await cluster.kubectl(["get", "crds", "-o", "name"]);
    assert.match(definitions, /drainpolicies\.lameduck\.dev/, "Helm leaves them");
    const first = await lameduckDoes(cluster, "uninstall", "--yes");
    assert.match(first.err, /lameduck-init: kept for \d+ running pods?,/);
    await restart();
    assert.deepEqual(await injected(), [false, false, false]);
    await until(
      async () => {
        const all = await cluster.api.list<Pod>("/api/v1/namespaces/default/pods");
        return all.every(({ metadata }) => metadata.annotations?.[injectedAnnotation] === undefined);
      },
      { what: "injected pods gone", timeoutMs: 90_000 },
    );
    await lameduckDoes(cluster, "uninstall", "--yes");
    assert.deepEqual(await leftovers(), []);
  });

  it("Lameduck loses no new connection of a server that nobody has changed, and loses some without", async () => {
    const lost = async (): Promise<number> => {
      const { result } = await runScenario(cluster, {
        remedy: software["node"]!,
        scenario: scenarios.find(({ name }) => name === "rollout")!,
        route: "cluster-ip",
        times: 1,
        replicas: 4,
        requestsPerSecond: 60,
        pooledShare: 0,
        rolling: { surge: "50%", unavailable: "0" },
        say: () => undefined,
      });
      return result.lost;
    };
    await cluster.kubectl(["delete", "deployment/web", "service/web", "--wait", "--ignore-not-found"]);
    assert.ok((await lost()) > 0, "a test that can fail");
    await installed(cluster, "webhook");
    assert.equal(await lost(), 0);
  });

  /** Whatever bears our name anywhere, but for the namespace that Helm did not make. */
  async function leftovers(): Promise<string[]> {
    const kinds = [
      "/api/v1/configmaps",
      "/api/v1/secrets",
      "/apis/apps/v1/deployments",
      "/apis/rbac.authorization.k8s.io/v1/clusterroles",
      "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
      "/apis/rbac.authorization.k8s.io/v1/roles",
      "/apis/coordination.k8s.io/v1/leases",
      "/apis/scheduling.k8s.io/v1/priorityclasses",
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
      "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
      "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
    ];
    const lists = await Promise.all(
      kinds.map(async (path) =>
        (await cluster.api.list<KubernetesObject>(path)).map((one) => [path, one] as const),
      ),
    );
    const labelled = await cluster.kubectl(["get", "namespaces", "-l", injectLabel, "-o", "name"]);
    return [
      ...lists
        .flat()
        .filter(([, { metadata }]) => metadata.name.includes("lameduck"))
        .map(([path, { metadata }]) => `${path} ${metadata.name}`),
      ...labelled.split("\n").filter((line) => line !== ""),
    ];
  }
});
