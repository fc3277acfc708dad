import type { RunClock } from "@lameduck/accounting";
import { clusterDomain, dnsServiceAddress, nodeAddress } from "../cluster/network/addresses.ts";
import type { Cluster } from "../cluster/index.ts";
import { clients, LocalBalancer } from "../balancer/local-balancer.ts";
import { startHaproxy } from "../ingress/haproxy.ts";
import { ingressNode, type IngressOptions, type Upstream } from "../ingress/ingress.ts";
import { startNginx } from "../ingress/nginx.ts";
import { startClientPods, type ClientPod } from "./load/client-pods.ts";
import type { Source } from "./load/fleet.ts";
import type { Sender } from "./observe/proxies.ts";
import { headlessName, senderName, type RouteName, type RouteOptions } from "./routes.ts";

/** haproxy-ingress applies changes at once; reload-based controllers collect them, ingress-nginx for 3.3 s (0.3 a second). */
const haproxyThrottleMs = 200;
const nginxThrottleMs = 3_300;

export interface OpenRoute extends AsyncDisposable {
  /** Where the requests begin. */
  readonly sources: readonly Source[];
  /** Who chooses the pods, where it is not the nodes' kube-proxies alone, and not the clients by DNS. */
  readonly chooses?: Sender;
}

/** Starts what stands between clients and the Service, and says where the clients are. */
export async function openRoute(route: RouteName, options: RouteOptions): Promise<OpenRoute> {
  const { cluster, clock, app: service } = options;
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
        sources: [{ machine: "edge", sender: balancer.name, url: balancer.url, clients }],
        chooses: balancer,
        [Symbol.asyncDispose]: () => balancer[Symbol.asyncDispose](),
      };
    }
    default:
      return throughIngress(route, cluster, clock, service);
  }
}

const nothing = { [Symbol.asyncDispose]: () => Promise.resolve() };

/** A fast, a middling and the slowest node. */
function clientNodes({ nodeNames }: Cluster): readonly string[] {
  return nodeNames.length < 4
    ? nodeNames
    : [nodeNames[0] ?? "", nodeNames.at(-2) ?? "", nodeNames.at(-1) ?? ""];
}

async function clusterIp(cluster: Cluster, service: string): Promise<string> {
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
async function throughIngress(
  route: Exclude<RouteName, "cluster-ip" | "node-port" | "client-pods" | "headless" | "local-balancer">,
  cluster: Cluster,
  clock: RunClock,
  service: string,
): Promise<OpenRoute> {
  const upstream: Upstream = route.endsWith("-service") ? "service" : "pods";
  const options: Omit<IngressOptions, "throttleMs"> = { cluster, clock, service, upstream };
  const ingress = route.startsWith("haproxy")
    ? await startHaproxy({ ...options, throttleMs: haproxyThrottleMs })
    : await startNginx({ ...options, throttleMs: nginxThrottleMs });
  const sender = ingress.sendsToPods ? ingress.name : senderName(cluster, ingressNode);
  return {
    sources: [{ machine: cluster.nodeNames.at(-1) ?? "", sender, url: ingress.url }],
    ...(ingress.sendsToPods ? { chooses: ingress } : {}),
    [Symbol.asyncDispose]: () => ingress[Symbol.asyncDispose](),
  };
}
