import type { RunClock } from "@lameduck/rollout";
import type { Cluster } from "../cluster/index.ts";
import { startHaproxy } from "../ingress/haproxy.ts";
import type { Ingress, Upstream } from "../ingress/ingress.ts";
import { startNginx } from "../ingress/nginx.ts";

/** haproxy-ingress applies changes at once; reload-based controllers collect them, ingress-nginx for 3.3 s (0.3 a second). */
const haproxyThrottleMs = 200;
const nginxThrottleMs = 3_300;

export const routes = {
  "cluster-ip": "the Service's ClusterIP, from three nodes",
  "node-port": "a NodePort of three nodes, from the node itself",
  haproxy: "HAProxy as ingress, pods as upstream, runtime API",
  nginx: "nginx as ingress, pods as upstream, throttled reload",
  "haproxy-service": "HAProxy as ingress, the ClusterIP as upstream",
  "nginx-service": "nginx as ingress, the ClusterIP as upstream",
} as const;

export type RouteName = keyof typeof routes;

export function startIngress(
  route: RouteName,
  cluster: Cluster,
  clock: RunClock,
  service: string,
): Promise<Ingress> | undefined {
  const upstream: Upstream = route.endsWith("-service") ? "service" : "pods";
  const options = { cluster, clock, service, upstream };
  if (route.startsWith("haproxy")) return startHaproxy({ ...options, throttleMs: haproxyThrottleMs });
  if (route.startsWith("nginx")) return startNginx({ ...options, throttleMs: nginxThrottleMs });
  return undefined;
}
