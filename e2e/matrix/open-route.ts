import type { RequestRecord } from "@lameduck/accounting";
import { clusterDomain, dnsServiceAddress, nodeAddress } from "../cluster/network/addresses.ts";
import type { Cluster } from "../cluster/index.ts";
import { clients, LocalBalancer } from "../balancer/local-balancer.ts";
import { isEnvoyRoute, openEnvoys } from "../ingress/envoy/open.ts";
import { startHaproxy } from "../ingress/haproxy.ts";
import { startIngressNginx } from "../ingress/ingress-nginx.ts";
import { ingressNode, type Ingress } from "../ingress/ingress.ts";
import { startClientPods, type ClientPod } from "./load/client-pods.ts";
import type { Source } from "./load/fleet.ts";
import type { Numbered } from "./load/plan.ts";
import type { Sender } from "./observe/proxies.ts";
import { headlessName, senderName, type RouteName, type RouteOptions } from "./routes.ts";

export interface OpenRoute extends AsyncDisposable {
  /** Where the requests begin. */
  readonly sources: readonly Source[];
  /** Who chooses the pods, where it is not the nodes' kube-proxies alone, and not the clients by DNS. */
  readonly chooses?: Sender | readonly Sender[];
  /** What a proxy knows of the requests, after the load. */
  readonly retell?: (records: readonly Numbered[]) => Promise<readonly RequestRecord[]>;
}

/** Starts what stands between clients and the Service, and says where the clients are. */
export async function openRoute(route: RouteName, options: RouteOptions): Promise<OpenRoute> {
  const { cluster, clock, app: service } = options;
  if (isEnvoyRoute(route)) return openEnvoys(route, options);
  switch (route) {
    case "cluster-ip":
      return { sources: fromNodes(cluster, await clusterIp(cluster, service)), ...nothing };
    case "node-port":
      return { sources: await toNodePort(cluster, service), ...nothing };
    case "client-pods": {
      const url = await clusterIp(cluster, service);
      // Whatever pod a request comes from: its node's kube-proxy chooses.
      return fromPods(cluster, ({ node }) => ({ sender: senderName(cluster, node), url }));
    }
    case "headless": {
      const url = `http://${headlessName(service)}.default.svc.${clusterDomain}:8080/`;
      return fromPods(cluster, ({ name }) => ({
        sender: `${name} (DNS)`,
        url,
        dnsServer: dnsServiceAddress,
      }));
    }
    case "local-balancer": {
      const balancer = await LocalBalancer.start(options);
      return {
        sources: [{ machine: "edge", sender: balancer.name, url: balancer.url, addresses: clients }],
        chooses: balancer,
        [Symbol.asyncDispose]: () => balancer[Symbol.asyncDispose](),
      };
    }
    case "haproxy":
    case "haproxy-service": {
      const upstream = route === "haproxy" ? "pods" : "service";
      return through(cluster, await startHaproxy({ cluster, clock, service, upstream }));
    }
    case "ingress-nginx":
    case "ingress-nginx-service": {
      const upstream = route === "ingress-nginx" ? "pods" : "service";
      const podAt = (address: string): string | undefined => options.pods.podAt(address);
      return through(cluster, await startIngressNginx({ cluster, clock, service, upstream, podAt }));
    }
  }
}

const nothing = { [Symbol.asyncDispose]: () => Promise.resolve() };

/** A fast, a middling and the slowest node. */
function clientNodes({ nodeNames }: Cluster): readonly string[] {
  return nodeNames.length < 4
    ? nodeNames
    : [nodeNames[0] ?? "", nodeNames.at(-2) ?? "", nodeNames.at(-1) ?? ""];
}

/** Where a Service is reached inside the cluster. */
export async function clusterIp(cluster: Cluster, service: string): Promise<string> {
  return `http://${await cluster.field(["service", service], "{.spec.clusterIP}")}/`;
}

function fromNodes(cluster: Cluster, url: string): Source[] {
  return clientNodes(cluster).map((machine) => ({ machine, sender: senderName(cluster, machine), url }));
}

async function toNodePort(cluster: Cluster, service: string): Promise<Source[]> {
  const port = await cluster.field(["service", service], "{.spec.ports[0].nodePort}");
  return clientNodes(cluster).map((machine) => {
    const address = nodeAddress(cluster.nodeNames.indexOf(machine) + 1);
    return { machine, sender: senderName(cluster, machine), url: `http://${address}:${port}/` };
  });
}

async function fromPods(
  cluster: Cluster,
  source: (client: ClientPod) => Omit<Source, "machine" | "enter">,
): Promise<OpenRoute> {
  const nodes = clientNodes(cluster);
  const clients = await startClientPods(cluster, [...nodes, ...nodes]);
  return {
    sources: clients.pods.map((client) => ({
      machine: client.node,
      enter: client.enter,
      ...source(client),
    })),
    [Symbol.asyncDispose]: () => clients[Symbol.asyncDispose](),
  };
}

/** A single client, for the ingress is the sender. */
function through(cluster: Cluster, ingress: Ingress): OpenRoute {
  const sender = ingress.sendsToPods ? ingress.name : senderName(cluster, ingressNode);
  return {
    sources: [{ machine: cluster.nodeNames.at(-1) ?? "", sender, url: ingress.url }],
    ...(ingress.sendsToPods ? { chooses: ingress } : {}),
    [Symbol.asyncDispose]: () => ingress[Symbol.asyncDispose](),
  };
}
