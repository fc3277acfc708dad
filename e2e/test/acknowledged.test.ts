import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { reportsOf, type DrainReport } from "@lameduck/coordinator";
import type { Pod } from "@lameduck/kube";
import { builtInit, type Cluster, type Manifest, until, whyNoEnvoy, whyNot } from "../cluster/index.ts";
import { nodeImage } from "../cluster/images/catalogue.ts";
import { deployment, service } from "../cluster/workload.ts";
import { beyondOracle } from "../acknowledged/figures.ts";
import { coordinatorUrl, install } from "../acknowledged/installation.ts";
import { situations } from "../acknowledged/situations/situations.ts";
import { remedyOf, ways } from "../acknowledged/ways.ts";
import { runScenario, type RunResult } from "../matrix/run.ts";
import { lameduck, lameduckDoes } from "../injected/installation.ts";
import { isLost, lagMs, meshOf, sentSince, withoutMesh } from "../mesh/mesh.ts";
import { apply, podNames, quietCluster, rolledOut } from "./support.ts";
import { access } from "node:fs/promises";

const replicas = 4;
const reason =
  (await whyNot()) ??
  (await access(builtInit).then(
    () => undefined,
    () => "lameduck-init is not built",
  ));

const noEnvoy = (await whyNoEnvoy()) ?? false;

describe("pods that ask the cluster", { skip: reason ?? false }, () => {
  let cluster: Cluster;

  before(async () => {
    cluster = await quietCluster({ nodes: 3, proxyLag: ["1s", "1s", "5s"] });
    await install(cluster, true);
  });
  after(() => cluster[Symbol.asyncDispose]());

  const run = (wayName: string, situationName: string): Promise<RunResult> => {
    const way = ways.find(({ name }) => name === wayName);
    const scenario = situations.find(({ name }) => name === situationName);
    assert.ok(way && scenario, `${wayName} ${situationName}`);
    return runScenario(cluster, {
      remedy: remedyOf(way, coordinatorUrl),
      scenario,
      route: "cluster-ip",
      times: 1,
      replicas,
      requestsPerSecond: 60,
      // Nobody is asked about a pod that has been published for less.
      warmUpMs: 10_000,
      say: () => undefined,
    });
  };

  const reports = (): Promise<readonly DrainReport[]> => cluster.api.list(reportsOf("default"));

  /** For who reads the test's output. */
  const figures = ({ result }: RunResult): string => {
    const reasons = result.each.map(({ stopReason }) => stopReason).join(", ");
    return `lost ${result.lost}, hold - oracle ${JSON.stringify(beyondOracle(result))}, ${reasons}`;
  };

  it("a pod does not wait for ever for a watcher that is stopped", async (test) => {
    const measured = await run("library", "watcher-stopped");
    test.diagnostic(figures(measured));
    const { result } = measured;
    assert.deepEqual([result.terminations, result.lostNew, result.killed], [replicas, 0, 0]);
  });

  it("the coordinator names a consumer that lies, once a connection has come after its report", async (test) => {
    const measured = await run("library", "consumer-lies");
    test.diagnostic(figures(measured));
    assert.equal(measured.result.terminations, replicas);
    const names = new Set(measured.result.each.map(({ pod }) => pod));
    const overruled = (await reports()).filter(
      (one) => names.has(one.pod.name) && one.overruledBy !== undefined,
    );
    test.diagnostic(overruled.map(({ overruledBy }) => overruledBy).join(", "));
  });

  for (const way of ["library"])
    it(`a pod stops with ${way} when every node has let go, loses nothing, and is recorded`, async (test) => {
      const measured = await run(way, "rollout");
      const { result } = measured;
      test.diagnostic(figures(measured));
      assert.deepEqual(
        [result.terminations, result.lostNew],
        [replicas, 0],
        JSON.stringify(result.lostByCause),
      );
      const reasons = result.each.map(({ stopReason }) => stopReason);
      assert.ok(reasons.includes("acknowledged"), `stopped for ${reasons.join(", ")}`);
      // Never before the last node, which a stop that nobody waited for would be.
      assert.ok(beyondOracle(result).p50 > 0, `${beyondOracle(result).p50} ms beyond the oracle`);
      const names = new Set(result.each.map(({ pod }) => pod));
      const own = (await reports()).filter(({ pod }) => names.has(pod.name));
      assert.equal(own.length, replicas, "a DrainReport for each termination");
      for (const { consumers } of own)
        assert.deepEqual(consumers.map(({ name }) => name).sort(), [
          "kube-proxy/node1",
          "kube-proxy/node2",
          "kube-proxy/node3",
        ]);
    });

  const says = (acknowledgements: object): Promise<void> =>
    apply(cluster, {
      apiVersion: "lameduck.dev/v1alpha1",
      kind: "DrainPolicy",
      metadata: { name: "default" },
      spec: { acknowledgements },
    });
  const knows = (...needs: readonly string[]): Promise<unknown> =>
    until(
      async () => {
        const { out } = await lameduck(cluster, "status", "--json", "-");
        return needs.every((need) => out.includes(`"${need}"`));
      },
      { what: `${needs.join(", ")} in the status`, timeoutMs: 90_000 },
    );

  it(
    "a mesh that lags by 20 s, each client of which sends once in 5 s, loses nothing; a policy that denies it makes it lose",
    { skip: noEnvoy },
    async (test) => {
      const { pod } = remedyOf(ways[0]!, coordinatorUrl);
      const environment = { ...pod.environment, LAMEDUCK_GRACE_PERIOD: "45s" };
      const options = { ...pod, name: "web", replicas, gracePeriodSeconds: 45, environment };
      await apply(cluster, service("web"), deployment(options));
      await rolledOut(cluster, "web");
      await meshOf(cluster, "web", 4);
      try {
        for (const isDenied of [true, false]) {
          await says(isDenied ? { sendsNothing: "mesh/istio" } : {});
          const begun = Date.now();
          const heard = async (): Promise<boolean> => {
            const sent = await sentSince(cluster, begun);
            return new Set(sent.filter((one) => !isLost(one)).map(({ to }) => to)).size === replicas;
          };
          await until(heard, { what: "an answer of each pod", timeoutMs: 90_000 });
          if (!isDenied) await knows("mesh/istio");
          const old = new Set(await podNames(cluster, "web"));
          const since = Date.now();
          await cluster.kubectl(["rollout", "restart", "deployment/web"]);
          const isOver = async (): Promise<boolean> =>
            (await podNames(cluster, "web")).every((one) => !old.has(one));
          await until(isOver, { what: "the end of the old pods", timeoutMs: 180_000 });
          // Those that the mesh chooses yet are lost, too.
          const ended = Date.now();
          await until(() => Promise.resolve(Date.now() - ended > lagMs), {
            what: "the lag",
            timeoutMs: 2 * lagMs,
          });
          const sent = await sentSince(cluster, since);
          const lost = sent.filter(isLost);
          const own = (await reports()).filter((one) => old.has(one.pod.name));
          const holds = own.map(({ hold }) => `${hold.reason} after ${hold.ms} ms`);
          test.diagnostic(
            `${isDenied ? "denied" : "known"}: lost ${lost.length} of ${sent.length}; ${holds.join(", ")}`,
          );
          assert.equal(own.length, replicas, "a DrainReport for each termination");
          if (isDenied) continue;
          assert.deepEqual(lost, []);
          for (const { hold, consumers } of own) {
            assert.notEqual(hold.reason, "acknowledged");
            assert.ok((hold.ms ?? 0) >= lagMs, `${hold.ms} ms`);
            const reasons = consumers.filter(({ state }) => state === "missing").map((one) => one.reason);
            assert.match(
              reasons.join(),
              /^Istio's sidecars, as Pod default\/mesh-client\S+ shows; 30 s are assumed$/,
            );
          }
        }
      } finally {
        await says({});
        await withoutMesh(cluster);
        await cluster.kubectl(["delete", "deployment/web", "service/web"]);
      }
    },
  );

  it("a pod that a client of a mesh, an HTTPProxy or a TargetGroupBinding may lead to is not released, loses nothing, and its record names them", async (test) => {
    const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
    const kindOf = (group: string, version: string, kind: string, plural: string): Manifest => ({
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `${plural}.${group}` },
      spec: {
        group,
        scope: "Namespaced",
        names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
        versions: [{ name: version, served: true, storage: true, schema }],
      },
    });
    const kinds = [
      kindOf("projectcontour.io", "v1", "HTTPProxy", "httpproxies"),
      kindOf("elbv2.k8s.aws", "v1beta1", "TargetGroupBinding", "targetgroupbindings"),
    ];
    const client = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "client" },
      spec: { containers: [{ name: "istio-proxy", image: nodeImage, args: ["/app/server.mjs"] }] },
    };
    await apply(cluster, ...kinds, client);
    await cluster.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]);
    await apply(
      cluster,
      {
        apiVersion: "projectcontour.io/v1",
        kind: "HTTPProxy",
        metadata: { name: "web" },
        // The rollout makes the one later.
        spec: { routes: [{ services: [{ name: "web" }, { name: "kubernetes" }] }] },
      },
      {
        apiVersion: "elbv2.k8s.aws/v1beta1",
        kind: "TargetGroupBinding",
        metadata: { name: "web" },
        spec: { serviceRef: { name: "web", port: 80 }, targetType: "ip", targetGroupARN: "arn:aws:none" },
      },
      service("web"),
    );
    await knows("mesh/istio", "proxy/contour", "load-balancer/aws/default/web");
    const measured = await run("library", "rollout");
    test.diagnostic(figures(measured));
    const { result } = measured;
    assert.deepEqual([result.terminations, result.lostNew], [replicas, 0]);
    assert.ok(result.each.every(({ stopReason }) => stopReason !== "acknowledged"));
    const names = new Set(result.each.map(({ pod }) => pod));
    const own = (await reports()).filter(({ pod }) => names.has(pod.name));
    assert.equal(own.length, replicas, "a DrainReport for each termination");
    for (const { consumers } of own)
      assert.deepEqual(
        consumers
          .filter(({ state }) => state === "missing")
          .map(({ name, reason }) => `${name}: ${reason}`)
          .sort(),
        [
          "load-balancer/aws/default/web: a load balancer of AWS with pods as targets, as TargetGroupBinding default/web shows; 120 s are assumed",
          "mesh/istio: Istio's sidecars, as Pod default/client shows; 30 s are assumed",
          "proxy/contour: Envoy of Contour, as HTTPProxy default/web shows; 10 s are assumed",
        ],
      );
    await cluster.kubectl(["delete", "pod/client", ...kinds.map(({ metadata }) => `crd/${metadata.name}`)]);
  });

  for (const way of ways.filter(({ isInjected }) => !isInjected))
    for (const url of [coordinatorUrl, undefined])
      it(`lameduck end ends a hold at once in ${way.name}, with ${url === undefined ? "no coordinator" : "a coordinator"}`, async () => {
        const app = `end-${way.name}-${url === undefined ? "alone" : "told"}`;
        const { pod } = remedyOf(way, url);
        const environment = { ...pod.environment, LAMEDUCK_FLOOR: "20s" };
        await apply(cluster, service(app), deployment({ ...pod, name: app, replicas: 1, environment }));
        await rolledOut(cluster, app);
        const [name = ""] = await podNames(cluster, app);
        await cluster.kubectl(["delete", "deployment", app, "--wait=false"]);
        const path = `/api/v1/namespaces/default/pods/${name}`;
        const isDeleted = async (): Promise<boolean> =>
          (await cluster.api.get<Pod>(path)).metadata.deletionTimestamp !== undefined;
        await until(isDeleted, { what: "the deletion" });
        const { out } = await lameduckDoes(cluster, "end", name, "--json", "-");
        const { containers } = JSON.parse(out) as { containers: readonly { outcome: string; by: string }[] };
        assert.deepEqual(
          containers.map(({ outcome, by }) => [outcome, by]),
          [["ended", url === undefined ? "binary" : "coordinator"]],
        );
      });
});
