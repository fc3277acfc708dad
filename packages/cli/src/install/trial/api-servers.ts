import type { KubernetesClient, KubernetesObject } from "@lameduck/kube";
import { ifReadable } from "../facts.ts";

interface Identity extends KubernetesObject {
  readonly spec?: { readonly renewTime?: string };
}

/** API servers renew their leases every 10 s, and one that has gone leaves its lease for an hour. */
const recentMs = 60_000;

/** How many API servers there are, by their leases (Kubernetes 1.26); undefined where these cannot be read. */
export async function apiServers(client: KubernetesClient, signal: AbortSignal): Promise<number | undefined> {
  const selector = encodeURIComponent("apiserver.kubernetes.io/identity=kube-apiserver");
  const path = `/apis/coordination.k8s.io/v1/namespaces/kube-system/leases?labelSelector=${selector}`;
  const leases = (await ifReadable(client.list<Identity>(path, signal))) ?? [];
  const renewed = leases.map(({ spec }) => Date.parse(spec?.renewTime ?? "")).filter((at) => at > 0);
  // By their own clocks: ours may be wrong.
  const newest = Math.max(...renewed);
  return renewed.filter((at) => at > newest - recentMs).length || undefined;
}

/** Control planes that say nothing of themselves rarely have more. */
const assumed = 3;
/** Chance that some API server gets none of the probes. */
const missed = 0.01;

/** How many probes reach every API server, if a balancer takes one at random for each connection. */
export function probesFor(servers: number = assumed): number {
  if (servers === 1) return 1;
  return Math.ceil(Math.log(missed / servers) / Math.log(1 - 1 / servers));
}
