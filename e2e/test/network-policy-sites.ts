import type { Pod } from "@lameduck/kube";
import { operatorNames } from "@lameduck/protocol";
import { processOf } from "../cluster/container-process.ts";
import type { Cluster } from "../cluster/index.ts";
import {
  apiServiceAddress,
  dnsServiceAddress,
  fabricAddress,
  nodeAddress,
} from "../cluster/network/addresses.ts";
import type { Origin, Target } from "./network-policy-ways.ts";

const { namespace, service, coordinator } = operatorNames;

/** A pod that stays. */
export interface Place {
  readonly name: string;
  readonly namespace: string;
  readonly node: string;
  readonly address: string;
}

/** The network namespace of a machine, or of a process as that machine numbers it. */
export interface Caller {
  readonly machine: string;
  readonly pid?: string;
}

/** Something that is called; `node` where it is a pod. */
export interface End {
  readonly address: string;
  readonly node?: string;
}

export interface Sites {
  readonly callers: Readonly<Record<Exclude<Origin, "node">, Caller>>;
  readonly ends: Readonly<Record<Target, readonly End[]>>;
}

export async function placesOf(cluster: Cluster, within: string, labels: string): Promise<readonly Place[]> {
  const path = `/api/v1/namespaces/${within}/pods?labelSelector=${encodeURIComponent(labels)}`;
  const pods = await cluster.api.list<Pod>(path);
  return pods
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata: { name }, spec, status }) => ({
      name,
      namespace: within,
      node: String(spec.nodeName),
      address: String(status?.podIP),
    }));
}

export async function probeOf(cluster: Cluster, within: string): Promise<Place> {
  const [place] = await placesOf(cluster, within, "app=probe");
  if (place === undefined) throw new Error(`no probe in ${within}`);
  return place;
}

export async function callerOf(cluster: Cluster, place: Place): Promise<Caller> {
  const pid = await processOf(cluster, place);
  if (pid === undefined) throw new Error(`no process of ${place.namespace}/${place.name}`);
  return { machine: place.node, pid };
}

/** Where everybody is at present. The first replica of several is the one that calls, and the others are called by it. */
export async function readSites(cluster: Cluster): Promise<Sites> {
  const replicas = (component: string): Promise<readonly Place[]> =>
    placesOf(cluster, namespace, `app.kubernetes.io/name=lameduck,app.kubernetes.io/component=${component}`);
  const [webhooks, coordinators, bystander, shop, monitoring] = await Promise.all([
    replicas("webhook"),
    replicas("coordinator"),
    probeOf(cluster, namespace),
    probeOf(cluster, "shop"),
    probeOf(cluster, "monitoring"),
  ]);
  const [webhook, collecting] = [webhooks[0], coordinators[0]];
  if (webhook === undefined || collecting === undefined) throw new Error("Lameduck is not installed");
  const [ofWebhook, ofCoordinator, ofDns] = await Promise.all([
    serviceOf(cluster, service, namespace),
    serviceOf(cluster, coordinator.service, namespace),
    serviceOf(cluster, "probe", "dns"),
  ]);
  const [byWebhook, byCoordinator, byShop, byMonitoring] = await Promise.all([
    callerOf(cluster, webhook),
    callerOf(cluster, collecting),
    callerOf(cluster, shop),
    callerOf(cluster, monitoring),
  ]);
  return {
    callers: {
      "API server": { machine: "fabric" },
      webhook: byWebhook,
      coordinator: byCoordinator,
      shop: byShop,
      monitoring: byMonitoring,
    },
    ends: {
      webhook: webhooks,
      coordinator: coordinators,
      bystander: [bystander],
      shop: [shop],
      monitoring: [monitoring],
      "webhook Service": ofWebhook,
      "coordinator Service": ofCoordinator,
      "API server": [{ address: fabricAddress }],
      "API server's Service": [{ address: apiServiceAddress }],
      DNS: [{ address: dnsServiceAddress }],
      "DNS on another port": ofDns,
      kubelet: [1, 2].map((number) => ({ address: nodeAddress(number) })),
    },
  };
}

async function serviceOf(cluster: Cluster, name: string, within: string): Promise<readonly End[]> {
  const field = "jsonpath={.spec.clusterIP}";
  return [{ address: await cluster.kubectl(["get", "service", name, "-n", within, "-o", field]) }];
}
