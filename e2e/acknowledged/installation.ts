import { injectLabel, operatorNames } from "@lameduck/protocol";
import { processOf } from "../cluster/container-process.ts";
import { until, type Cluster } from "../cluster/index.ts";
import { contour } from "../ingress/envoy/contour.ts";
import { envoyGateway } from "../ingress/envoy/envoy-gateway.ts";
import { ingressNginxAccount } from "../ingress/ingress-nginx.ts";
import { deliverImage, injects, lameduckDoes } from "../injected/installation.ts";
import { apply } from "../test/support.ts";

const { namespace, coordinator, watcher } = operatorNames;

/** Where pods ask. */
export const coordinatorUrl = `http://${coordinator.service}.${namespace}.svc:${coordinator.ports.protocol}`;

/** The account of watchers beside an ingress proxy: that of the DaemonSet reports for nodes only. */
export const ingressAccount = { name: "ingress-consumer", namespace: watcher.namespace };

/** Installs the operator, with coordinator and watchers or without, and waits until every one of them is ready. */
export async function install(cluster: Cluster, acknowledged: boolean): Promise<void> {
  await deliverImage(cluster);
  if (!acknowledged) {
    await lameduckDoes(cluster, "install", "--yes", "--disable", "acknowledgements");
    return;
  }
  await installAcknowledging(cluster);
  await coordinatorReady(cluster);
  await watchersReady(cluster);
}

/** Installs coordinator and watchers, too, or changes what is installed. @param image of another version, which all nodes have. */
export async function installAcknowledging(cluster: Cluster, image?: string): Promise<void> {
  const envoys = [contour, envoyGateway].map((one) => ({ namespace: one.namespace, name: one.account }));
  const accounts = [ingressAccount, ingressNginxAccount, ...envoys].flatMap((one) => [
    "--consumer-account",
    `${one.namespace}/${one.name}`,
  ]);
  const other = image === undefined ? [] : ["--image", image];
  await lameduckDoes(cluster, "install", "--yes", "--acknowledgements", ...accounts, ...other);
}

export async function coordinatorReady(cluster: Cluster, name: string = coordinator.workload): Promise<void> {
  const target = `deployment/${name}`;
  await cluster.kubectl(["rollout", "status", target, "-n", namespace, "--timeout=120s"]);
}

export async function scaleCoordinator(cluster: Cluster, replicas: number): Promise<void> {
  const target = `deployment/${coordinator.workload}`;
  await cluster.kubectl(["scale", target, "-n", namespace, `--replicas=${replicas}`]);
  await coordinatorReady(cluster);
}

export async function watchersReady(cluster: Cluster): Promise<void> {
  const target = `daemonset/${watcher.workload}`;
  await cluster.kubectl(["rollout", "status", target, "-n", watcher.namespace, "--timeout=120s"]);
}

/** Whether pods that are made in the default namespace are injected from now on. */
export async function inject(cluster: Cluster, enabled: boolean): Promise<void> {
  const value = enabled ? "enabled" : "disabled";
  await cluster.kubectl(["label", "namespace", "default", `${injectLabel}=${value}`, "--overwrite"]);
  // Each replica of the webhook learns of it by itself. Pods that one of them did not change would be measured as if they were.
  if (enabled) await injects(cluster, "webhook");
}

/** Injected pods stop by their own evidence, too, or on the word of the cluster alone. */
export async function requirePolicy(
  cluster: Cluster,
  { policy, capSeconds }: { readonly policy: string; readonly capSeconds?: number },
): Promise<void> {
  const mode = policy === "acknowledged" ? "consistency" : "availability";
  await apply(cluster, {
    apiVersion: "lameduck.dev/v1alpha1",
    kind: "DrainPolicy",
    metadata: { name: "default", namespace: "default" },
    spec: { acknowledgements: { mode }, ...(capSeconds === undefined ? {} : { capSeconds }) },
  });
}

export interface Watcher {
  readonly pod: string;
  /** As its node numbers it. */
  readonly pid: string;
}

/** The watcher of a node and its process. */
export async function watcherOn(cluster: Cluster, node: string): Promise<Watcher> {
  const selection = ["-n", watcher.namespace, "--field-selector", `spec.nodeName=${node}`];
  const pod = await cluster.field(["pods", ...selection], "{.items[0].metadata.name}");
  const place = { name: pod, namespace: watcher.namespace, node };
  const pid = await until(() => processOf(cluster, place), { what: `the process of ${pod}` });
  return { pod, pid };
}

export async function coordinatorPods(
  cluster: Cluster,
): Promise<readonly { readonly name: string; readonly node: string; readonly address: string }[]> {
  const fields = "{.metadata.name} {.spec.nodeName} {.status.podIP}";
  const selection = ["-n", namespace, "-l", "app.kubernetes.io/component=coordinator"];
  const lines = await cluster.field(["pods", ...selection], `{range .items[*]}${fields}{"\\n"}{end}`);
  return lines
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [name = "", node = "", address = ""] = line.split(" ");
      return { name, node, address };
    });
}
