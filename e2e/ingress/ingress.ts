import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { RunClock, SenderEvent } from "@lameduck/accounting";
import type { Cluster, Manifest } from "../cluster/index.ts";
import { EndpointFollower, type ReadyEndpoint } from "./endpoints.ts";

/** To which the ingress sends: the pods themselves, or the Service's address and so the node's kube-proxy ("service-upstream"). */
export type Upstream = "pods" | "service";

/** A reverse proxy in a pod, kept up to date by a controller of ours that runs beside the test. */
export interface Ingress extends AsyncDisposable {
  /** Where clients call it. */
  readonly url: string;
  readonly name: string;
  /** Else it sends to the Service, and knows no pods. */
  readonly sendsToPods: boolean;
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

export interface IngressSite {
  /** The directory that it shares with its controller, as that sees it. */
  readonly outside: string;
  /** The Service's own address and port. */
  readonly service: string;
}

/** What an ingress needs before its pod can start. */
export async function prepareIngress(
  { cluster, service }: IngressOptions,
  directory: string,
): Promise<IngressSite> {
  const outside = join(cluster.directory, ingressNode, directory);
  await mkdir(outside, { recursive: true });
  const address = await cluster.field(["service", service], "{.spec.clusterIP}");
  return { outside, service: `${address}:80` };
}

export interface IngressPod {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  /** Below /run of the node, and at the same path in the pod. */
  readonly directory: string;
}

function ingressPod({ name, image, args, directory }: IngressPod): Manifest {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { app: name } },
    spec: {
      nodeName: ingressNode,
      // A watcher in another pod finds the workers of nginx by its master's number.
      hostPID: true,
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
  return cluster.field(["pod", pod.name], "{.status.podIP}");
}

/** The ingress as its users see it, kept up to date until it is disposed of. */
export async function ingressOf(
  options: IngressOptions,
  own: {
    readonly name: string;
    readonly address: string;
    readonly events: readonly SenderEvent[];
    readonly reaches: ReadonlySet<string>;
    /** Makes the proxy send to these endpoints and no others. */
    readonly apply: (endpoints: readonly ReadyEndpoint[]) => Promise<void>;
  },
): Promise<Ingress> {
  const { cluster, service, upstream, throttleMs } = options;
  const { name, address, events, reaches, apply } = own;
  const sendsToPods = upstream === "pods";
  const follower = sendsToPods
    ? await EndpointFollower.start(cluster, service, throttleMs, apply)
    : undefined;
  return {
    url: `http://${address}:${ingressPort}/`,
    name,
    sendsToPods,
    events,
    reaches,
    [Symbol.asyncDispose]: async () => {
      await follower?.[Symbol.asyncDispose]();
      await cluster.kubectl(["delete", "pod", name, "--ignore-not-found", "--grace-period=1"]);
    },
  };
}
