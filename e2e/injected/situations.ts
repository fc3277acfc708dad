import { operatorNames } from "@lameduck/operator";
import type { Cluster } from "../cluster/index.ts";
import { during, scenarios, type Scenario } from "../matrix/scenarios.ts";
import { chart, helm, lameduckDoes } from "./installation.ts";

const { namespace, workload } = operatorNames;
const operatorPods = ["-n", namespace, "-l", "app.kubernetes.io/component=webhook"] as const;

const ready = (cluster: Cluster): Promise<string> =>
  cluster.kubectl(["rollout", "status", `deployment/${workload}`, "-n", namespace, "--timeout=120s"]);

/** A restart of the software while something happens to what injects; how it was is put back in the end. */
export const ofOperator: readonly Scenario[] = [
  during("webhook-killed", "rollout restart; every replica of the webhook killed", async ({ cluster }) => {
    await cluster.kubectl(["delete", "pods", ...operatorPods, "--force", "--grace-period=0"]);
    await ready(cluster);
  }),
  during("webhook-down", "rollout restart; the webhook scaled to 0 for its length", async ({ cluster }) => {
    await cluster.kubectl(["scale", `deployment/${workload}`, "-n", namespace, "--replicas=0"]);
  }),
  during("webhook-restarted", "rollout restart; rollout restart of the webhook", async ({ cluster }) => {
    await cluster.kubectl(["rollout", "restart", `deployment/${workload}`, "-n", namespace]);
    await ready(cluster);
  }),
  during("operator-node-drained", "rollout restart; a node of the webhook drained", async ({ cluster }) => {
    const node = await cluster.kubectl([
      "get",
      "pods",
      ...operatorPods,
      "-o",
      "jsonpath={.items[0].spec.nodeName}",
    ]);
    const drain = ["drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=150s"];
    try {
      await cluster.kubectl(drain);
    } finally {
      await cluster.kubectl(["uncordon", node]);
    }
  }),
  during("wrong-authority", "rollout restart; the webhook's caBundle is another's", async ({ cluster }) => {
    const { authority } = await otherAuthority(cluster);
    await patchBundle(cluster, authority);
  }),
  during("uninstalled", "rollout restart; lameduck uninstall in its middle", async ({ cluster }) => {
    await lameduckDoes(cluster, "uninstall", "--yes");
  }),
  during("helm-upgraded", "rollout restart; helm upgrade in its middle", async ({ cluster }) => {
    await helm(cluster, "upgrade", "lameduck", chart, "-n", namespace, "--set", "logLevel=debug", "--wait");
  }),
  during("helm-uninstalled", "rollout restart; helm uninstall in its middle", async ({ cluster }) => {
    await helm(cluster, "uninstall", "lameduck", "-n", namespace, "--wait");
  }),
];

export const situations: readonly Scenario[] = [...scenarios, ...ofOperator];

async function patchBundle(cluster: Cluster, caBundle: string): Promise<void> {
  const patch = [{ op: "replace", path: "/webhooks/0/clientConfig/caBundle", value: caBundle }];
  const target = ["mutatingwebhookconfiguration", operatorNames.configuration];
  await cluster.kubectl(["patch", ...target, "--type=json", "-p", JSON.stringify(patch)]);
}

/** The cluster's own: a good certificate that has not signed ours. */
async function otherAuthority(cluster: Cluster): Promise<{ authority: string }> {
  const certificate = await cluster.kubectl([
    "get",
    "configmap",
    "kube-root-ca.crt",
    "-n",
    "default",
    "-o",
    "jsonpath={.data.ca\\.crt}",
  ]);
  return { authority: Buffer.from(certificate).toString("base64") };
}
