import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Cluster, findProgram, whyNot } from "../cluster/index.ts";
import { clusterRemedy } from "../matrix/remedies.ts";
import { runScenario, type RunResult } from "../matrix/run.ts";
import type { RouteName } from "../matrix/routes.ts";
import { quiet, scenarios, type Scenario } from "../matrix/scenarios.ts";
import { podNames, quietCluster } from "./support.ts";

const reason = await whyNot();
const replicas = 4;

/** A sender that certainly lags: its kube-proxy is stopped from before the deletion until six seconds after it. */
const deletedBehindProxy: Scenario = {
  name: "delete-behind-stopped-proxy",
  description: "a pod deleted while the kube-proxy of a client's node is stopped",
  run: async (stage) => {
    const { cluster, app } = stage;
    await cluster.pause("kube-proxy-1");
    const [victim = ""] = await podNames(cluster, app);
    await cluster.kubectl(["delete", "pod", victim, "--wait=false"]);
    await sleep(6_000);
    await cluster.resume("kube-proxy-1");
    await quiet(stage);
  },
};

/** One pod ended, after the six seconds of the sender that lagged, and of each of these nothing was counted. */
function heldWithout({ result }: RunResult, ...counts: ("lost" | "lostNew" | "killed")[]): void {
  assert.deepEqual(
    [result.terminations, ...counts.map((count) => result[count])],
    [1, ...counts.map(() => 0)],
    JSON.stringify(result.lostByCause),
  );
  assert.ok(result.hold.p50 > 6_000, `held ${result.hold.p50} ms`);
}

const noImageOf = async (program: string): Promise<string | false> =>
  (await findProgram(program)) === undefined && `no ${program} here to make an image of`;

describe("remedies on a real cluster", { skip: reason ?? false }, async () => {
  let cluster: Cluster;

  before(async () => {
    cluster = await quietCluster({ nodes: 3 });
  });
  after(() => cluster[Symbol.asyncDispose]());

  const run = (
    remedyName: string,
    scenario: Scenario,
    route: RouteName = "cluster-ip",
  ): Promise<RunResult> => {
    const remedy = clusterRemedy(remedyName);
    assert.ok(remedy, remedyName);
    const say = (): void => undefined;
    return runScenario(cluster, { remedy, scenario, route, times: 1, replicas, requestsPerSecond: 90, say });
  };
  const rollout = scenarios.find(({ name }) => name === "rollout");
  assert.ok(rollout);

  it("a rollout loses requests of a sender that lags when the server closes at SIGTERM, and says that its route was stale", async () => {
    const { result } = await run("close", deletedBehindProxy);
    assert.equal(result.terminations, 1);
    assert.ok(result.lostNew > 0, "some of 6 s of new connections to a pod that has gone");
    const stale = (result.lostByCause.C1 ?? 0) + (result.lostByCause.C2 ?? 0);
    assert.ok(stale > result.lost / 2, JSON.stringify(result.lostByCause));
  });

  it("a pod holds with the library as long as a sender that lags sends, and loses nothing", async () => {
    heldWithout(await run("adaptive", deletedBehindProxy), "lost", "killed");
  });

  it("a pod holds with lameduck-init in the same way, and no new connection is lost", async () => {
    heldWithout(await run("init", deletedBehindProxy), "lostNew");
  });

  const skipNginx = await noImageOf("nginx");
  it(
    "lameduck-init holds software that is not ours, whose image has a stop signal of its own: nginx",
    { skip: skipNginx },
    async () => heldWithout(await run("nginx-init", deletedBehindProxy), "lostNew", "killed"),
  );

  it("every request is accounted for in a rollout behind a balancer that keeps 5,000 addresses and asks the nodes for their health", async () => {
    const { result, lags } = await run("adaptive", rollout, "local-balancer");
    assert.deepEqual(
      [result.terminations, result.lostNew],
      [replicas, 0],
      JSON.stringify(result.lostByCause),
    );
    const converged = lags.map(({ sender, count }) => [sender, count]);
    assert.deepEqual(converged, [["balancer", replicas]], "the balancer let go of every old pod");
  });

  const skipHaproxy = await noImageOf("haproxy");
  it(
    "every request is accounted for in a rollout behind HAProxy, which learns of the pods by itself",
    { skip: skipHaproxy },
    async () => {
      const { result, recording, lags } = await run("adaptive", rollout, "haproxy");
      assert.equal(result.terminations, replicas);
      assert.equal(recording.records.length > 200, true);
      assert.equal(
        lags.reduce((sum, { count }) => sum + count, 0),
        replicas,
        "the ingress dropped every old pod",
      );
      assert.equal(result.lostNew, 0, JSON.stringify(result.lostByCause));
    },
  );
});
