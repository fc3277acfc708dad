import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Pod } from "@lameduck/kube";
import { builtInit, type Cluster, until, whyNot } from "../cluster/index.ts";
import { deployment, service } from "../cluster/workload.ts";
import { beyondOracle } from "../acknowledged/figures.ts";
import { coordinatorUrl, install } from "../acknowledged/installation.ts";
import { situations } from "../acknowledged/situations/situations.ts";
import { remedyOf, ways } from "../acknowledged/ways.ts";
import { runScenario, type RunResult } from "../matrix/run.ts";
import { lameduckDoes } from "../injected/installation.ts";
import { apply, podNames, quietCluster, rolledOut } from "./support.ts";
import { access } from "node:fs/promises";

const replicas = 4;
const reason =
  (await whyNot()) ??
  (await access(builtInit).then(
    () => undefined,
    () => "lameduck-init is not built",
  ));

interface DrainReport {
  readonly pod: { readonly name: string };
  readonly hold: { readonly reason?: string };
  readonly overruledBy?: string;
  readonly consumers: readonly { readonly name: string; readonly state: string }[];
}

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

  const reports = (): Promise<readonly DrainReport[]> =>
    cluster.api.list("/apis/lameduck.dev/v1alpha1/namespaces/default/drainreports") as unknown as Promise<
      readonly DrainReport[]
    >;

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

  for (const way of ways.filter(({ isInjected }) => !isInjected))
    for (const url of [coordinatorUrl, undefined])
      it(`lameduck end ends a hold at once in ${way.name}, with ${url === undefined ? "no coordinator" : "a coordinator"}`, async () => {
        const app = `end-${way.name}`;
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
