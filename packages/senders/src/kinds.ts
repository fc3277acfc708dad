import { anyProxy } from "./any.ts";
import { aws } from "./aws.ts";
import { azure } from "./azure.ts";
import { cilium } from "./cilium.ts";
import { contour } from "./contour.ts";
import { dns } from "./dns.ts";
import { envoy } from "./envoy.ts";
import { gcp } from "./gcp.ts";
import { haproxy } from "./haproxy.ts";
import { http } from "./http.ts";
import { ingressNginx } from "./ingress-nginx.ts";
import { istio, ztunnel } from "./istio.ts";
import {
  type Annotations,
  annotationsOf,
  type Assumed,
  classAnnotation,
  classOf,
  isIngress,
  leadsToNodes,
  type Sender,
  type SenderKind,
  type SeenRoute,
  type SeenService,
  type ObjectKind,
  type Program,
  type Recognised,
  type SeenNamespace,
  type SeenPod,
} from "./kind.ts";
import { linkerd } from "./linkerd.ts";
import { meshes } from "./meshes.ts";
import { nodeProxies } from "./node-proxies.ts";
import type { Preset } from "./preset.ts";
import { hasWatcher } from "./recognising.ts";
import { kubeProxy } from "./kube-proxy.ts";
import { nginx } from "./nginx.ts";
import { nodeBalancer } from "./node-balancer.ts";
import { proxies } from "./proxies.ts";
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
  ztunnel,
  aws,
  gcp,
  azure,
  dns,
  contour,
  linkerd,
  meshes,
  proxies,
  nodeProxies,
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
  const own = programOfRoute(route)?.kind;
  for (const kind of kinds) {
    const sender = kind.ofRoute?.(route, services, kind === own);
    if (sender !== undefined) return sender === leadsToNodes ? undefined : sender;
  }
  return undefined;
}

/** Annotations of routes that tell their senders. */
export const routeAnnotations: readonly string[] = [
  classAnnotation,
  ...all.flatMap((kind) => kind.routeAnnotations ?? []),
];

/** How long a cloud's load balancer takes to notice that a node of the Service has, or no longer has, a pod. */
export function nodeCheckOf(annotations: Annotations): Sender {
  return ofNodes.detection(annotations);
}

/** Needs of proxies that send from the node on which they run, in kube-proxy's place: "node-proxy/cilium". */
const ofNodeProxies = "node-proxy/";

/** Whether it is a need that a node's consumer serves for its node alone. */
export const isNodeNeed = (need: string): boolean => need === servesNode || need.startsWith(ofNodeProxies);

/** What a consumer reports to serve if it carries its node's traffic, whatever its kind. */
const servesNode = "node";

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

export const isOfBalancer = (need: string): boolean => need.startsWith(`${balancers}/`);

/** The load balancers that may have the Service's pods as targets: "load-balancer/aws". */
export function balancersOf(service: SeenService): readonly string[] {
  return all.flatMap(({ name, mayTarget }) => (mayTarget?.(service) ? [`${balancers}/${name}`] : []));
}

/** Senders that objects of a cluster show, whether or not anybody reports for them. */
export const recognised: readonly Recognised[] = all.flatMap((kind) => kind.recognised ?? []);

/** Others than its load balancers that a Service itself shows: "other-clusters/cilium". */
export function needsOfService(service: SeenService): readonly string[] {
  return recognised.flatMap(({ need, ofService }) => (ofService?.(service) ? [need] : []));
}

/** A sender that a pod shows. */
export interface PodSender {
  readonly need: string;
  /** The Services to which it leads, as `Recognised` has them. Undefined where it takes kube-proxy's place on the pod's node. */
  readonly services?: readonly string[];
  /** It does so from the pod's node, and each such node needs a reader. */
  readonly isOfNode?: true;
}

export function sendersOfPod(pod: SeenPod): readonly PodSender[] {
  return recognised.flatMap(({ need, ofPod, isOfNode }): readonly PodSender[] => {
    const services = ofPod?.(pod);
    if (services === undefined) return [];
    if (services === "its node") return [{ need }];
    return [{ need, services, ...(isOfNode?.(pod) === true && { isOfNode: true }) }];
  });
}

/** Senders that a namespace shows. */
export function sendersOfNamespace(
  namespace: SeenNamespace,
): readonly (PodSender & { readonly services: readonly string[] })[] {
  return recognised.flatMap(({ need, ofNamespace }) => {
    const services = ofNamespace?.(namespace);
    return services === undefined ? [] : [{ need, services }];
  });
}

/** Objects that lead to Services; `need` is whom to ask where an object names nobody else. */
export const objectKinds: readonly (ObjectKind & Pick<Recognised, "need" | "converges">)[] =
  recognised.flatMap(({ need, converges, objects = [] }) =>
    objects.map((kind) => ({ ...kind, need, converges })),
  );

/** Names of Services to which an Ingress leads by its annotations. */
export function namedByAnnotations(annotations: Readonly<Record<string, string>>): readonly string[] {
  return all.flatMap(({ namesServices = [] }) => namesServices).flatMap((name) => annotations[name] || []);
}

/** What serves a class of Ingresses or Gateways, by what the class names as its controller; undefined for what is not known here. */
export function programOf(controller: string): (Program & { readonly kind: SenderKind }) | undefined {
  return programs.find(({ classes }) => classes.some((one) => controller.startsWith(one)));
}

/**
 * What serves an Ingress: by the controller of its class, else by the usual name of the class.
 * A controller that is not known here may be one that somebody has renamed, so that the name counts.
 */
export function programOfRoute(route: SeenRoute): ReturnType<typeof programOf> {
  if (!isIngress(route)) return undefined;
  const known = route.controller === undefined ? undefined : programOf(route.controller);
  return known ?? programs.find(({ names }) => names?.test(classOf(route)));
}

export const programs: readonly (Program & { readonly kind: SenderKind })[] = all.flatMap((kind) =>
  (kind.programs ?? []).map((one) => ({ ...one, kind })),
);

/** A pod that sends, or has a watcher: what tells whether reports of one pod say anything of another. */
export interface SeenProxy {
  /** A watcher stands beside it. */
  readonly isRead: boolean;
  /** The program, where a watcher can read it. Undefined for other pods with a watcher. */
  readonly who?: string;
  /** What it may serve, as `Program` has it. */
  readonly serves?: readonly string[];
}

/** Undefined for pods without a watcher that are no proxy which a watcher can read. */
export function proxyOf(pod: SeenPod): SeenProxy | undefined {
  const isRead = hasWatcher(pod);
  const program = programs.find((one) => one.consumer !== undefined && one.isProxy?.(pod) === true);
  if (program === undefined) return isRead ? { isRead } : undefined;
  const serves = program.serves?.(pod);
  return { isRead, who: program.who, ...(serves === undefined ? {} : { serves }) };
}

/** Whether two proxies of one known program may serve one class: in doubt they do. Of a program that is not known, nothing is. */
export function mayServeOneClass(one: SeenProxy, other: SeenProxy): boolean {
  if (one.who === undefined || one.who !== other.who) return false;
  const { serves } = other;
  return one.serves === undefined || serves === undefined || one.serves.some((what) => serves.includes(what));
}

/**
 * Whether a watcher of the kind may report for the sender that a need names. The kind `http` asks an endpoint of the user's, which may know any sender.
 * @param controllerOf `spec.controller` of an IngressClass, where that is known.
 */
export function mayServe(
  kind: string,
  need: string,
  controllerOf: (ingressClass: string) => string | undefined,
): boolean {
  const isRead = (one: string): boolean => all.some(({ name, consumer }) => name === one && consumer);
  const [what, name = ""] = need.split("/");
  if (isNodeKind(kind)) return isNodeNeed(need);
  if (what === "consumer" && kind !== http.name) return name === kind || !isRead(name);
  if (balancerKinds.includes(kind)) return `${need}/`.startsWith(`${balancers}/${kind}/`);
  if (kind === http.name || !isRead(kind)) return true;
  if (isNodeNeed(need) || isOfBalancer(need)) return false;
  const controller = what === "ingress-class" ? controllerOf(name) : undefined;
  const reader = controller === undefined ? recognisedBy(need)?.reader : programOf(controller)?.consumer;
  return reader === undefined || reader.split("=")[0] === kind;
}

/** Who it is that a need names, for people; undefined for a class of Ingresses or Gateways, and for what is declared. */
export function whoIs(need: string): string | undefined {
  return recognisedBy(need)?.who;
}

/** What is known of the sender that a need names; undefined as above. */
export function recognisedBy(need: string): Recognised | undefined {
  return recognised.find((one) => one.need === need || need.startsWith(`${one.need}/`));
}

/** How long the sender that the need names is assumed to take, where no object tells more. Undefined where nothing is known of it. */
export function convergenceOf(need: string): Assumed | undefined {
  const known = recognisedBy(need)?.converges;
  if (known !== undefined) return known;
  const [what, ingressClassName] = need.split("/");
  if (what === "gateway-class") return senderOfRoute(routeOf("HTTPRoute"), []);
  return what === "ingress-class" ? senderOfRoute(routeOf("Ingress", ingressClassName), []) : undefined;
}

function routeOf(kind: string, ingressClassName?: string): SeenRoute {
  return { kind, ingressClassName, annotations: annotationsOf() };
}

const recognisedNeeds = recognised.map(({ need }) => need);
const balancerKinds = all.flatMap(({ name, serves }) => (serves === "service" ? [name] : []));
const served = new RegExp(
  `^(?:${servesNode}|${recognisedNeeds.join("|")}|consumer/[a-z0-9-]+/[\\w.:-]{1,253}|(?:ingress-class|gateway-class)/[\\w.:-]{1,253}|${balancers}/(?:${balancerKinds.join("|")})(?:/[\\w.-]{1,63}){0,2})$`,
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
