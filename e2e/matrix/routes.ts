import type { RunClock } from "@lameduck/accounting";
import type { Cluster } from "../cluster/index.ts";
import type { PodObserver } from "./observe/pods.ts";
import type { ProxyObserver } from "./observe/proxies.ts";

export const routes = {
  "cluster-ip": "the Service's ClusterIP, from three nodes",
  "node-port": "a NodePort of three nodes, from the node itself",
  "client-pods": "the ClusterIP, from six client pods with a pool each on three nodes",
  headless: "a headless Service, by six client pods that find the pods by DNS",
  haproxy: "HAProxy as ingress, pods as upstream, runtime API",
  "haproxy-service": "HAProxy as ingress, the ClusterIP as upstream",
  "ingress-nginx": "ingress-nginx itself, its defaults: pods as upstream, retries",
  "ingress-nginx-service": "ingress-nginx itself, with service-upstream: the ClusterIP as upstream",
  contour: "Contour with two Envoys, told of the Service by an Ingress",
  "contour-gateway": "Contour with two Envoys, told of the Service by a Gateway and an HTTPRoute",
  "contour-httpproxy": "Contour with two Envoys, told of the Service by an HTTPProxy",
  "envoy-gateway": "Envoy Gateway with two Envoys, told of the Service by an HTTPRoute",
  "local-balancer":
    "5,000 client addresses behind a balancer that keeps them; externalTrafficPolicy: Local; health checks of healthCheckNodePort every 5 s, threshold 2",
} as const;

export type RouteName = keyof typeof routes;

/** A node's kube-proxy, by the name that it has in results. */
export const senderName = (cluster: Cluster, node: string): string => {
  const lag = cluster.settings.proxyLag[cluster.nodeNames.indexOf(node)] ?? "?";
  return `${node} (${lag})`;
};

/** The headless Service beside the ordinary one. */
export const headlessName = (service: string): string => `${service}-each`;

/** What a route is opened with. */
export interface RouteOptions {
  readonly cluster: Cluster;
  readonly clock: RunClock;
  /** The app whose pods get the requests. */
  readonly app: string;
  readonly pods: PodObserver;
  readonly proxies: readonly ProxyObserver[];
}
