import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Cluster, nodeImage, until, whyNot } from "../cluster/index.ts";
import { attempt, type Outcome } from "../cluster/host/run.ts";
import { quietCluster } from "./support.ts";

const reason = await whyNot();
const main = join(import.meta.dirname, "..", "matrix", "main.ts");

/** Reached by nothing but a kubeconfig, the test cluster is like any other. */
describe("the scenarios on a cluster that a kubeconfig names", { skip: reason ?? false }, () => {
  let cluster: Cluster;

  before(async () => {
    cluster = await quietCluster({ nodes: 2 });
  });
  after(() => cluster[Symbol.asyncDispose]());

  const matrix = (args: readonly string[], kubeconfig = cluster.kubeconfig): Promise<Outcome> =>
    attempt(process.execPath, [main, "--context", "lameduck-e2e", "--image", nodeImage, ...args], {
      environment: { E2E_KUBECONFIG: kubeconfig },
    });

  it("a run on an existing cluster needs an image of Node and the API only, and removes what it made", async () => {
    const load = ["--replicas", "3", "--rps", "60", "--times", "1", "--clients", "2"];
    const { status, stdout, stderr } = await matrix([
      "--scenarios",
      "rollout",
      "--remedies",
      "adaptive,init",
      ...load,
    ]);
    assert.equal(status, 0, stderr);
    const rows = stdout.split("\n").filter((line) => /^(adaptive|init) /.test(line));
    const terminations = rows.map((row) => Number(row.trim().split(/ +/)[1]));
    assert.deepEqual(terminations, [3, 3], stdout);
    assert.doesNotMatch(rows.filter((row) => row.startsWith("adaptive")).join("\n"), /loses/, stdout);
    await until(async () => !(await cluster.kubectl(["get", "namespaces"])).includes("lameduck-matrix"), {
      what: "the namespace gone",
      timeoutMs: 60_000,
    });
  });

  it("a run on an existing cluster refuses by name what only the test cluster can do, before it makes anything", async () => {
    const namespaces = async (): Promise<string[]> =>
      (await cluster.kubectl(["get", "namespaces", "--output=name"])).split("\n");
    const before = await namespaces();
    const { status, stderr } = await matrix(["--scenarios", "rollout-etcd-slow", "--remedies", "adaptive"]);
    assert.equal(status, 2);
    assert.match(stderr, /LAMEDUCK_CLUSTER_BAD_OPTION.*"rollout-etcd-slow" needs the test cluster/);
    // One of the run before may still be going.
    assert.deepEqual(
      (await namespaces()).filter((one) => !before.includes(one)),
      [],
    );
  });

  it("a run on an existing cluster says in one line that a kubeconfig leads nowhere", async () => {
    const { status, stderr } = await matrix(["--remedies", "adaptive"], "/nowhere/kubeconfig");
    assert.equal(status, 3);
    assert.match(stderr, /^LAMEDUCK_[A-Z_]+ .*\/nowhere\/kubeconfig/);
    assert.doesNotMatch(stderr, /\n +at /);
  });
});
