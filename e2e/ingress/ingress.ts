import type { RunClock, SenderEvent } from "@lameduck/rollout";
import type { Cluster, KubernetesObject } from "../cluster/index.ts";

/** To which the ingress sends: the pods themselves, or the Service's address and so the node's kube-proxy ("service-upstream"). */
export type Upstream = "pods" | "service";

/** A reverse proxy in a pod, kept up to date by a controller of ours that runs beside the test. */
export interface Ingress extends AsyncDisposable {
  /** Where clients call it. */
  readonly url: string;
  readonly name: string;
  /** When it took up and dropped pods, as far as the proxy has confirmed. */
  readonly events: readonly SenderEvent[];
  /** The pods that it sends to now. */
  readonly reaches: ReadonlySet<string>;
}

export interface IngressOptions {
  readonly cluster: Cluster;
  readonly clock: RunClock;
  readonly service: string;
  readonly upstream: Upstream;
  /** Time that changes are collected before they are applied. */
  readonly throttleMs: number;
}

export const ingressPort = 8080;

/** On the ingress's own node, so that the controller reaches configuration and sockets as files below the node's /run. */
export const ingressNode = "node1";

export interface IngressPod {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  /** Below /run of the node, and at the same path in the pod. */
  readonly directory: string;
}

export function ingressPod({ name, image, args, directory }: IngressPod): KubernetesObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { app: name } },
    spec: {
      nodeName: ingressNode,
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: "proxy",
          image,
          args,
          volumeMounts: [{ name: "control", mountPath: directory }],
          readinessProbe: { tcpSocket: { port: ingressPort }, periodSeconds: 1 },
        },
      ],
      volumes: [{ name: "control", hostPath: { path: directory, type: "DirectoryOrCreate" } }],
    },
  };
}

export async function startIngressPod(cluster: Cluster, pod: IngressPod): Promise<string> {
  await cluster.kubectl(["apply", "-f", "-"], JSON.stringify(ingressPod(pod)));
  await cluster.kubectl(["wait", "--for=condition=Ready", `pod/${pod.name}`, "--timeout=60s"]);
  return (await cluster.kubectl(["get", "pod", pod.name, "-o", "jsonpath={.status.podIP}"])).trim();
}

export async function endIngressPod(cluster: Cluster, name: string): Promise<void> {
  await cluster.kubectl(["delete", "pod", name, "--ignore-not-found", "--grace-period=1"]);
}
