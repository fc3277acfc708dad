import { anyProxy } from "./any.ts";
import { aws } from "./aws.ts";
import { azure } from "./azure.ts";
import { cilium } from "./cilium.ts";
import { dns } from "./dns.ts";
import { envoy } from "./envoy.ts";
import { gcp } from "./gcp.ts";
import { haproxy } from "./haproxy.ts";
import { http } from "./http.ts";
import { ingressNginx } from "./ingress-nginx.ts";
import { istio } from "./istio.ts";
import {
  type Annotations,
  leadsToNodes,
  type Sender,
  type SenderKind,
  type SeenRoute,
  type SeenService,
} from "./kind.ts";
import type { Preset } from "./preset.ts";
import { kubeProxy } from "./kube-proxy.ts";
import { nginx } from "./nginx.ts";
import { nodeBalancer } from "./node-balancer.ts";
import { skipper } from "./skipper.ts";
import { traefik } from "./traefik.ts";

const named = [
  cilium,
  kubeProxy,
  haproxy,
  nginx,
  envoy,
  ingressNginx,
  traefik,
  http,
  skipper,
  istio,
  aws,
  gcp,
  azure,
  dns,
] as const satisfies readonly SenderKind[];

const all: readonly SenderKind[] = named;
const ofNodes = nodeBalancer(all.flatMap(({ nodeChecks }) => nodeChecks ?? []));

/** The first kind that knows a route has it: what fits every route comes last. */
export const kinds: readonly SenderKind[] = [...named, ofNodes, anyProxy];

export function sendersOfService(service: SeenService): readonly Sender[] {
  return kinds.reduce<readonly Sender[]>((found, kind) => {
    const sender = kind.ofService?.(service, found);
    return sender ? [...found, sender] : found;
  }, []);
}

/** @param services the senders of the Services that it leads to. */
export function senderOfRoute(route: SeenRoute, services: readonly Sender[]): Sender | undefined {
  for (const kind of kinds) {
    const sender = kind.ofRoute?.(route, services);
    if (sender !== undefined) return sender === leadsToNodes ? undefined : sender;
  }
  return undefined;
}

/** How long a cloud's load balancer takes to notice that a node of the Service has, or no longer has, a pod. */
export function nodeCheckOf(annotations: Annotations): Sender {
  return ofNodes.detection(annotations);
}

/** What a consumer reports to serve if it carries its node's traffic, whatever its kind. */
export const servesNode = "node";

/** Kinds that carry a node's traffic to pods: every node has one of them. */
const nodeKinds: ReadonlySet<string> = new Set(
  all.flatMap(({ name, serves }) => (serves === "node" ? [name] : [])),
);

export const isNodeKind = (kind: string): boolean => nodeKinds.has(kind);

export function isNodeProxy(consumer: {
  readonly kind: string;
  readonly serves: readonly string[];
}): boolean {
  return isNodeKind(consumer.kind) || consumer.serves.includes(servesNode);
}

/** Needs of such a kind name the Service, since each has a target group of its own: "load-balancer/aws/shop/web". */
export const balancers = "load-balancer";

/** The load balancers that may have the Service's pods as targets: "load-balancer/aws". */
export function balancersOf(annotations: Annotations): readonly string[] {
  return all.flatMap(({ name, mayTarget }) => (mayTarget?.(annotations) ? [`${balancers}/${name}`] : []));
}

const balancerKinds = all.flatMap(({ name, serves }) => (serves === "service" ? [name] : []));
const served = new RegExp(
  `^(?:${servesNode}|consumer/[a-z0-9-]+/[\\w.:-]{1,253}|(?:ingress-class|gateway-class)/[\\w.:-]{1,253}|${balancers}/(?:${balancerKinds.join("|")})(?:/[\\w.-]{1,63}){0,2})$`,
);

/** The values that a coordinator looks for. It would take any other text, and wait for no consumer. */
export const isServed = (what: string): boolean => served.test(what);

type Named = (typeof named)[number];
export type PresetName =
  | "instant"
  | {
      [Kind in Named as Kind["name"]]: Kind extends { presets: infer Presets } ? keyof Presets : never;
    }[Named["name"]];

/**
 * Ways in which senders converge, from deletion to last use, each per sender. The lab draws delays from them, the simulator plays
 * their mechanisms. Published figures are of uneven quality: the sources say what they measured.
 */
export const presets = {
  instant: {
    summary: "every sender knows at once",
    source: "a control: nothing but the arrivals already under way can be lost",
    forwarder: { kind: "delay", delay: 1 },
  },
  ...Object.assign({}, ...all.map((kind) => kind.presets)),
} as Readonly<Record<PresetName, Preset>>;
