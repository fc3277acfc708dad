import assert from "node:assert/strict";
import { access } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import type { Pod } from "@lameduck/kube";
import { operatorNames } from "@lameduck/protocol";
import { reportsOf, type DrainReport } from "@lameduck/coordinator";
import { coordinatorReady, watchersReady } from "../acknowledged/installation.ts";
import { builtInit, findProgram, until, whyNot, type Cluster } from "../cluster/index.ts";
import { fabricAddress } from "../cluster/network/addresses.ts";
import { deployment, service } from "../cluster/workload.ts";
import { deliverImage, isInjected, lameduck, lameduckDoes } from "../injected/installation.ts";
import {
  askingAllowed,
  denyAll,
  named,
  probe,
  probeService,
  within,
  wordRequired,
} from "./network-policy-objects.ts";
import { callerOf, probeOf } from "./network-policy-sites.ts";
import { dial, survey, surveyed } from "./network-policy-survey.ts";
import type { Way } from "./network-policy-ways.ts";
import { apply, quietCluster } from "./support.ts";

async function whyNotEnforced(): Promise<string | undefined> {
  const missing = await whyNot();
  if (missing !== undefined) return missing;
  if ((await findProgram("ipset")) === undefined)
    return "what enforces NetworkPolicies needs ipset: apt-get install ipset";
  return access(builtInit).then(
    () => undefined,
    () => "lameduck-init is not built",
  );
}

const reason = await whyNotEnforced();
const { namespace, coordinator, watcher, workload } = operatorNames;
/** Its pods are injected, and may do what docs/operate/acknowledgements.md asks for, and nothing else. */
const store = "store";

describe("NetworkPolicies that are enforced", { skip: reason ?? false }, () => {
  let cluster: Cluster;

  before(async () => {
    // Not iptables: kube-router writes the whole table back that it has read, without what kube-proxy has changed meanwhile.
    cluster = await quietCluster({ nodes: 2, proxyMode: "nftables", networkPolicies: true });
    await deliverImage(cluster);
    await apply(cluster, ...["shop", "monitoring", "dns", store].map(named));
    await apply(cluster, probe("shop", 8080), probe("monitoring", coordinator.ports.protocol));
    await apply(cluster, probe("dns", 5353), probeService("dns", 53, 5353));
    await Promise.all(["shop", "monitoring", "dns"].map(probeReady));
  });
  after(() => cluster?.[Symbol.asyncDispose]());

  async function install(...more: readonly string[]): Promise<void> {
    await lameduckDoes(cluster, "install", "--yes", "--acknowledgements", "--held-deletions", ...more);
    await coordinatorReady(cluster);
    await watchersReady(cluster);
  }
  const probeReady = (of: string): Promise<string> =>
    cluster.kubectl(["wait", "-n", of, "--for=condition=Ready", "pod/probe", "--timeout=60s"]);
  const withoutPolicies = (of: string): Promise<string> =>
    cluster.kubectl(["delete", "networkpolicies", "--all", "-n", of]);

  /** What is enforced follows the objects within a moment. */
  async function becomes(isOpen: (way: Way) => boolean): Promise<void> {
    const wanted = surveyed(isOpen);
    let seen: unknown;
    const isSeen = async (): Promise<boolean> => isDeepStrictEqual((seen = await survey(cluster)), wanted);
    await until(isSeen, { what: "the ways as they are to be" }).catch((error: unknown) => {
      if (seen === undefined) throw error;
    });
    assert.deepEqual(seen, wanted);
  }

  it("NetworkPolicies close what was answered before, and open it again when they are gone", async () => {
    const { address } = await probeOf(cluster, "shop");
    const caller = await callerOf(cluster, await probeOf(cluster, "monitoring"));
    const isAnswered = async (): Promise<boolean> =>
      (await dial(cluster, caller, [`${address}:8080`])).every(Boolean);
    assert.ok(await isAnswered());
    await apply(cluster, denyAll("shop"));
    await until(async () => !(await isAnswered()), { what: "the way closed" });
    await withoutPolicies("shop");
    await until(isAnswered, { what: "the way open again" });
  });

  it("NetworkPolicies are what closes: without one every way is answered, and none where all is denied", async () => {
    await install("--metrics-from", "monitoring");
    await apply(cluster, probe(namespace, 8080));
    await probeReady(namespace);
    await withoutPolicies(namespace);
    await becomes(() => true);
    await apply(cluster, denyAll(namespace));
    await becomes(() => false);
  });

  it("NetworkPolicies of the chart open what they are to open, and nothing else", async () => {
    await install("--metrics-from", "monitoring");
    await becomes(({ isOpen }) => isOpen);
  });

  it("NetworkPolicies let the operator's pods start, and do their work over connections of their own", async () => {
    for (const target of [`deployment/${workload}`, `deployment/${coordinator.workload}`])
      await cluster.kubectl(["rollout", "restart", target, "-n", namespace]);
    await cluster.kubectl(["rollout", "restart", `daemonset/${watcher.workload}`, "-n", watcher.namespace]);
    await cluster.kubectl(["rollout", "status", `deployment/${workload}`, "-n", namespace, "--timeout=120s"]);
    // A replica is ready when the nodes have reported to it.
    await coordinatorReady(cluster);
    await watchersReady(cluster);
    await install("--metrics-from", "monitoring", "--enable", store);
    await becomes(({ isOpen }) => isOpen);
  });

  it("NetworkPolicies let pods be injected, and released to a namespace that lets out no more than the docs ask for", async () => {
    await apply(cluster, denyAll(store), askingAllowed(store), wordRequired(store));
    await apply(
      cluster,
      ...[service("web"), deployment({ name: "web", replicas: 2 })].map((one) => within(store, one)),
    );
    await cluster.kubectl(["rollout", "status", "deployment/web", "-n", store, "--timeout=90s"]);
    const pods = await cluster.api.list<Pod>(`/api/v1/namespaces/${store}/pods`);
    assert.deepEqual(pods.map(isInjected), [true, true]);
    const [pod] = pods;
    assert.ok(pod);
    await cluster.kubectl(["delete", "pod", pod.metadata.name, "-n", store, "--timeout=90s"]);
    const report = await until(async () => (await cluster.api.list<DrainReport>(reportsOf(store)))[0], {
      what: `the record of ${pod.metadata.name}`,
    });
    assert.equal(report.hold.reason, "acknowledged", JSON.stringify(report));
    assert.deepEqual(
      report.consumers.map(({ name, state }) => `${name} ${state}`).sort(),
      cluster.nodeNames.map((node) => `kube-proxy/${node} applied`),
    );
  });

  it("NetworkPolicies let `lameduck status` ask the coordinator only where --metrics-from names the API server's address", async () => {
    const says = (words: RegExp): Promise<boolean> =>
      until(async () => words.test((await lameduck(cluster, "status")).out), { what: String(words) });
    await says(/lameduck-coordinator-\S+: unknown, it could not be asked/);
    await says(/NetworkPolicy .*lameduck-coordinator.* lets only some in to port 9090, .*--metrics-from/);
    await install("--metrics-from", "monitoring", "--metrics-from", `${fabricAddress}/32`);
    await says(/lameduck-coordinator-\S+: reports of 2 senders/);
    await becomes((way) => way.isOpen || isMetricsOfApiServer(way));
  });
});

function isMetricsOfApiServer({ from, port }: Way): boolean {
  return from === "API server" && port === operatorNames.ports.metrics;
}
