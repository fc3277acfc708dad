/**
 * The kube-proxies of a large cluster, which report to one replica of the coordinator. Prints each second how many answers they have had.
 * Usage: consumers.ts PLAN; ends with its input.
 */
import { KubernetesClient } from "@lameduck/kube";
import { clusterConnection } from "@lameduck/kube/kubeconfig";
import { operatorNames } from "@lameduck/protocol";
import { SimulatedConsumer, type ConsumerCounts } from "./simulated-consumer.ts";
import { hollowNode } from "./objects.ts";

export interface ConsumersPlan {
  readonly host: string;
  readonly port: number;
  readonly count: number;
  /** Of somebody who may make the tokens: each is bound to its node, as those of the DaemonSet are. */
  readonly kubeconfig: string;
  /** Each consumer's lag is drawn once, between these. */
  readonly lagMs: readonly [number, number];
}

const { count, lagMs, kubeconfig, ...target } = JSON.parse(process.argv[2] ?? "") as ConsumersPlan;
const [least, most] = lagMs;
const counts: ConsumerCounts = { connected: 0, answers: 0, failures: 0 };
const api = new KubernetesClient(clusterConnection({ kubeconfig }));
const { watcher, coordinator } = operatorNames;
/** The listener's backlog is not what is measured. */
const atOnce = 100;

async function open(node: string): Promise<void> {
  const account = `/api/v1/namespaces/${watcher.namespace}/serviceaccounts/${watcher.workload}`;
  const { status } = await api.post<{ readonly status: { readonly token: string } }>(`${account}/token`, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: {
      audiences: [coordinator.audience],
      expirationSeconds: 7_200,
      boundObjectRef: { apiVersion: "v1", kind: "Node", name: node },
    },
  });
  const lag = least + Math.random() * (most - least);
  new SimulatedConsumer({ ...target, token: status.token, node, lag: () => lag, counts }).open();
}

process.stdin.on("end", () => process.exit(0)).resume();
for (let from = 0; from < count; from += atOnce) {
  const nodes = Array.from({ length: Math.min(atOnce, count - from) }, (_, at) => hollowNode(from + at));
  await Promise.all(nodes.map(open));
}
api.close();
setInterval(() => process.stdout.write(`${JSON.stringify(counts)}\n`), 1_000);
