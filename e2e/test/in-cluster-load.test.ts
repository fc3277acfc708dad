import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { KubernetesClient } from "@lameduck/kube";
import { clusterConnection } from "@lameduck/kube/kubeconfig";
import { rightsYaml } from "@lameduck/kube/rights-yaml";
import { InClusterLoad, inClusterRules, parseRoutes, type InClusterOptions } from "@lameduck/load";
import { runClock } from "@lameduck/accounting";
import { nodeImage } from "../cluster/images/catalogue.ts";
import { type Cluster, until, whyNot } from "../cluster/index.ts";
import { deployment, service } from "../cluster/workload.ts";
import { apply, quietCluster, rolledOut } from "./support.ts";

const reason = await whyNot();
const namespace = "load";

describe("load from inside the cluster", { skip: reason ?? false }, () => {
  let cluster: Cluster;
  let client: KubernetesClient;

  before(async () => {
    cluster = await quietCluster({ nodes: 3 });
    await apply(
      cluster,
      deployment({ name: "web", replicas: 3, environment: { SHUTDOWN: "lameduck" } }),
      service("web"),
      // Whatever the pods of the load want must be allowed under the strictest profile.
      {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: namespace, labels: { "pod-security.kubernetes.io/enforce": "restricted" } },
      },
    );
    client = await leastPrivileged(cluster);
    await rolledOut(cluster, "web");
  });
  after(async () => {
    client?.close();
    await cluster?.[Symbol.asyncDispose]();
  });

  const options = (changes: Partial<InClusterOptions> = {}): InClusterOptions => ({
    kube: client,
    clock: runClock(),
    namespace,
    routes: parseRoutes(["service=http://web.default.svc.cluster.local/"]),
    parallel: 2,
    image: nodeImage,
    rate: 600,
    pooledShare: 0.5,
    timeout: 5_000,
    maxDuration: 120_000,
    maxRequests: 100_000,
    seed: 1,
    ...changes,
  });

  const nothingLeft = async (): Promise<void> => {
    await until(
      async () => {
        const left = await cluster.kubectl([
          "get",
          "jobs,pods,configmaps",
          "-n",
          namespace,
          "-l",
          "lameduck.dev/load",
          "-o",
          "name",
        ]);
        return left.trim() === "";
      },
      { what: "everything of the load removed", timeoutMs: 20_000 },
    );
  };

  it("a load in the cluster brings back every request of two pods through a rollout, while the API server restarts", async (t) => {
    const clock = runClock();
    const load = await InClusterLoad.start(options({ clock }));
    t.after(() => load.close());
    await load.begin();
    const begun = clock.now();
    assert.match(load.addresses.get("service") ?? "", /^198\./);
    await cluster.kubectl(["rollout", "restart", "deployment/web"]);
    await until(() => Promise.resolve(load.counts().sent > 1_200), {
      what: "1,200 requests",
      timeoutMs: 20_000,
    });
    await cluster.restart("apiserver");
    await rolledOut(cluster, "web");
    await until(() => Promise.resolve(load.reconnects >= 2), {
      what: "both logs read on",
      timeoutMs: 20_000,
    });
    const stopping = clock.now();
    const { records, missing, notes } = await load.stop();
    const seconds = (stopping - begun) / 1_000;

    assert.equal(missing, 0, "requests that were due and are not known");
    assert.deepEqual(
      notes.filter((note) => !note.includes("known to") && !note.includes("CPU")),
      [],
    );
    assert.deepEqual(new Set(records.map(({ id }) => id)).size, records.length);
    const planned = 600 * seconds;
    // SIGTERM takes its time; a Poisson count varies by a few times its root.
    assert.ok(records.length > planned - 5 * Math.sqrt(planned), `${records.length} of ${planned}`);
    assert.ok(records.length < planned + 600 * 6 + 5 * Math.sqrt(planned), `${records.length} of ${planned}`);
    const during = records.filter(({ intended }) => intended >= begun && intended < stopping).length;
    assert.ok(
      Math.abs(during - planned) < 6 * Math.sqrt(planned),
      `${during} of ${planned} within ${seconds} s`,
    );
    assert.ok(records.every(({ intended, finished = 0 }) => finished >= intended && intended >= 0));
    assert.ok(new Set(records.flatMap(({ pod }) => pod ?? [])).size >= 5, "old and new pods");
    const lost = records.filter(({ outcome }) => outcome !== "ok");
    assert.ok(lost.length < records.length / 100, JSON.stringify(lost.slice(0, 3)));
    await nothingLeft();
  });

  it("a load in the cluster names what keeps its pods from starting, and leaves nothing", async () => {
    const load = await InClusterLoad.start(options({ image: "lameduck.test/No:Such:Image" }));
    await assert.rejects(load.begin(), { code: "LAMEDUCK_IN_CLUSTER_NOT_STARTED", message: /Image/ });
    await load.close();
    await nothingLeft();
  });

  it("a load in the cluster names a URL that does not answer in there, and leaves nothing", async (t) => {
    const routes = parseRoutes(["http://no-such-service.default.svc.cluster.local/"]);
    const load = await InClusterLoad.start(options({ routes, parallel: 1 }));
    t.after(() => load.close());
    await assert.rejects(load.begin(), { code: "LAMEDUCK_IN_CLUSTER_URL", message: /no-such-service/ });
    await load.close();
    await nothingLeft();
  });

  it("a load in the cluster leaves nothing when it is interrupted on its way", async () => {
    const load = await InClusterLoad.start(options({ parallel: 1, rate: 20 }));
    const begun = load.begin();
    await Promise.race([begun, sleep(1_000)]);
    await Promise.all([load.close(), begun.catch(() => undefined)]);
    await nothingLeft();
  });
});

/** A client that may do what the documentation says is needed, and no more. */
async function leastPrivileged(cluster: Cluster): Promise<KubernetesClient> {
  await cluster.kubectl(["create", "serviceaccount", "loader", "-n", namespace]);
  await cluster.kubectl(["apply", "-f", "-"], rightsYaml(namespace, inClusterRules([])));
  await cluster.kubectl([
    "create",
    "rolebinding",
    "loader",
    "-n",
    namespace,
    "--role=lameduck-rollout",
    `--serviceaccount=${namespace}:loader`,
  ]);
  const token = (await cluster.kubectl(["create", "token", "loader", "-n", namespace])).trim();
  const connection = clusterConnection({ kubeconfig: cluster.kubeconfig });
  return new KubernetesClient({
    ...connection,
    credentials: () => Promise.resolve({ authorization: `Bearer ${token}`, expires: Infinity }),
  });
}
