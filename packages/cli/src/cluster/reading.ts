import {
  exposingKinds,
  followed,
  following,
  type Follow,
  followKinds,
  followPaths,
  identityOf,
  PathIndex,
  recognisedKinds,
  routeKinds,
  Routing,
  seenPod,
  shownByNamespace,
  seenRoute,
  slimGateway,
  slimPolicy,
  SlimPaths,
  toldByRoute,
  type ToldByRoute,
  type PolicyObject,
  type RouteObject,
  type Showing,
} from "@lameduck/cluster";
import {
  orUndefined,
  workloadNameOf,
  type Container,
  type KubernetesClient,
  type KubernetesObject,
  type Pod,
  type Source,
} from "@lameduck/kube";
import { policyName } from "@lameduck/inject";
import {
  annotationsOf,
  classOf,
  type SeenClass,
  type SeenNode,
  type Sender,
  senderOfRoute,
  sendersOfPod,
  sendersOfService,
} from "@lameduck/senders";

/** A list that could not be read. */
export interface Unread {
  /** "services" */
  readonly name: string;
  /** "services", "httpproxies.projectcontour.io": as a role names it. */
  readonly resource: string;
  /** `refused`: without the right. `unanswered`: not in time. */
  readonly state: "refused" | "unanswered";
}

export interface WorkloadSeen {
  readonly namespace: string;
  /** "deployment/web" */
  readonly name: string;
  readonly pods: number;
  /** One of them, as it runs. */
  readonly pod: Pod;
}

export interface SenderSeen {
  readonly sender: Sender;
  /** That show it. */
  readonly objects: number;
}

/** A class of Ingresses or Gateways. */
export interface ClassSeen {
  /** "ingress-class/nginx" */
  readonly need: string;
  /** "k8s.io/ingress-nginx" */
  readonly controller: string;
}

/** What the cluster holds, as webhook and coordinator would read it. Of a list that could not be read nothing is there. */
export interface ClusterRead {
  readonly paths: PathIndex;
  readonly routing: Routing;
  readonly nodes: readonly NodeSeen[];
  /** By name, with their labels. */
  readonly namespaces: ReadonlyMap<string, Readonly<Record<string, string>>>;
  readonly workloads: readonly WorkloadSeen[];
  readonly classes: readonly ClassSeen[];
  /** Senders that Services and routes show by themselves, by their names. */
  readonly senders: ReadonlyMap<string, SenderSeen>;
  /** The slowest of those that Ingresses of a class show: "ingress-class/alb". */
  readonly ofClasses: ReadonlyMap<string, Sender>;
  /** The DrainPolicy of each namespace that has one. */
  readonly policies: ReadonlyMap<string, PolicyObject>;
  readonly unread: readonly Unread[];
}

export interface NodeSeen extends SeenNode {
  readonly kubelet: string;
}

/** For the answers to all lists. */
const longestReadMs = 120_000;

/** They choose pods as kube-proxy does, and expose none. */
const ofNodes = recognisedKinds.filter(({ isOfNodes }) => isOfNodes === true);

const gatewayClasses = {
  name: "gatewayclasses",
  path: "/apis/gateway.networking.k8s.io/v1/gatewayclasses",
} as const;

/** Reads the cluster once: lists, as webhook and coordinator ask for them. */
export async function readCluster(client: KubernetesClient, signal: AbortSignal): Promise<ClusterRead> {
  const now = (): number => 0;
  const routing = new Routing();
  const paths = new PathIndex();
  const nodes = new Map<string, NodeSeen>();
  const namespaces = new Map<string, Readonly<Record<string, string>>>();
  const policies = new Map<string, PolicyObject>();
  const classes = new Map<string, ClassSeen>();
  const pods = new PodsSeen();
  const senders = new SendersSeen();
  const slim = new SlimPaths({ asks: "both" });
  const keepGatewayClass = ({ metadata, spec }: ClassObject): undefined => {
    const need = `gateway-class/${metadata.name}`;
    classes.set(need, { need, controller: spec?.controllerName ?? "" });
  };
  const unread = await readOnce(client, signal, (follow) => {
    // The same objects, looked at on their way.
    const looking: Follow = (kind, slimmed, take, reading) =>
      follow(
        kind,
        (object: never) => {
          senders.look(kind.name, object);
          return slimmed(object);
        },
        take,
        reading,
      );
    const taker: Parameters<typeof followPaths>[2] = {
      service: (change) => {
        routing.service(change, now());
        paths.service(change);
      },
      route: (change) => {
        routing.route(change, now());
        paths.route(change);
      },
      grant: (change) => {
        routing.grant(change, now());
        paths.grant(change);
      },
      ingressClass: (change) => {
        const { metadata, controller = "" } = change.object;
        const need = `ingress-class/${metadata.name}`;
        classes.set(need, { need, controller });
        senders.classes.push(change.object);
        routing.ingressClass(change, now());
        paths.ingressClass(change);
      },
    };
    return [
      follow(
        followed.pods,
        (pod: Pod) => pods.keep(pod),
        (change) => routing.shows(change, now()),
      ),
      follow(followed.nodes, (node: NodeObject) => keepNode(node, nodes), none),
      follow(
        followed.namespaces,
        (object: KubernetesObject) => {
          namespaces.set(object.metadata.name, object.metadata.labels ?? {});
          return shownByNamespace(object);
        },
        (change) => routing.shows(change, now()),
      ),
      follow(followed.drainPolicies, slimPolicy, ({ object }) => {
        if (object.metadata.name === policyName) policies.set(object.metadata.namespace ?? "", object);
      }),
      follow({ ...gatewayClasses, versions: ["v1", "v1beta1"] }, keepGatewayClass, none),
      follow(followed.gateways, slimGateway, (change) => routing.gateway(change, now())),
      ...sourcesOf(followPaths(looking, slim, taker)),
      ...followKinds(follow, slim, exposingKinds, taker.route),
      ...followKinds(follow, slim, ofNodes, (change) => routing.route(change, now())),
    ];
  });
  senders.lookAtRoutes();
  return {
    paths,
    routing,
    nodes: [...nodes.values()],
    namespaces,
    workloads: pods.workloads,
    classes: [...classes.values()],
    senders: senders.all,
    ofClasses: senders.ofClasses,
    policies,
    unread,
  };
}

/** What leads to pods, and nothing else. */
export async function readPaths(
  client: KubernetesClient,
  signal: AbortSignal,
): Promise<Pick<ClusterRead, "paths" | "unread">> {
  const paths = new PathIndex();
  const slim = new SlimPaths({ asks: "by labels" });
  const unread = await readOnce(client, signal, (follow) => [
    ...sourcesOf(followPaths(follow, slim, paths)),
    ...followKinds(follow, slim, exposingKinds, (change) => paths.route(change)),
  ]);
  return { paths, unread };
}

type Sources = readonly Source<KubernetesObject>[];

const sourcesOf = ({ services, builtIn, installed }: ReturnType<typeof followPaths>): Sources => [
  services,
  ...builtIn,
  ...installed,
];

/** @returns what could not be read. */
async function readOnce(
  client: KubernetesClient,
  signal: AbortSignal,
  begin: (follow: Follow) => Sources,
): Promise<Unread[]> {
  const sources = begin(following(client, { onProblem: () => undefined, isListOnly: true }));
  try {
    for (const source of sources) source.start();
    await Promise.race([Promise.all(sources.map(({ settled }) => settled)), ended(signal)]);
    signal.throwIfAborted();
    const unread = unreadOf(sources);
    return unread.length === 0 ? unread : await ofServedGroups(client, unread, signal);
  } finally {
    await Promise.all(sources.map((source) => source.stop()));
  }
}

/** What nobody may list is refused whether it is there or not. */
async function ofServedGroups(
  client: KubernetesClient,
  unread: readonly Unread[],
  signal: AbortSignal,
): Promise<Unread[]> {
  const answer = client.get<{ readonly groups?: readonly { readonly name: string }[] }>("/apis", signal);
  const groups = (await orUndefined(answer, 401, 403, 404))?.groups?.map(({ name }) => name);
  const groupOf = (resource: string): string => resource.split(".").slice(1).join(".");
  return unread.filter(({ resource }) => {
    const group = groupOf(resource);
    return group === "" || groups === undefined || groups.includes(group);
  });
}

const none = (): void => undefined;

/** Each by its resource once: routes of one kind are listed in several versions. */
function unreadOf(sources: Sources): Unread[] {
  const all = sources.flatMap(({ name, resource, state }): Unread[] =>
    state === "refused" || state === "waiting"
      ? [{ name, resource, state: state === "refused" ? "refused" : "unanswered" }]
      : [],
  );
  return [...new Map(all.map((one) => [one.resource, one])).values()];
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, longestReadMs);
    timer.unref();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

interface ClassObject extends KubernetesObject {
  readonly spec?: { readonly controllerName?: string };
}

interface NodeObject extends KubernetesObject {
  readonly spec?: { readonly taints?: readonly { readonly key?: string }[] };
  readonly status?: { readonly nodeInfo?: { readonly kubeletVersion?: string } };
}

function keepNode({ metadata, spec, status }: NodeObject, nodes: Map<string, NodeSeen>): undefined {
  nodes.set(metadata.name, {
    name: metadata.name,
    labels: metadata.labels ?? {},
    taints: (spec?.taints ?? []).flatMap(({ key }) => key ?? []),
    kubelet: status?.nodeInfo?.kubeletVersion ?? "",
  });
}

interface SendingObject extends RouteObject {
  readonly spec?: RouteObject["spec"] & {
    readonly type?: string;
    readonly clusterIP?: string;
    readonly externalTrafficPolicy?: string;
  };
}

class SendersSeen {
  readonly classes: SeenClass[] = [];
  readonly ofClasses = new Map<string, Sender>();
  readonly all = new Map<string, { sender: Sender; objects: number }>();
  readonly #routes: ToldByRoute[] = [];

  look(list: string, object: SendingObject): void {
    const { metadata, spec = {} } = object;
    const { type, clusterIP, externalTrafficPolicy } = spec;
    const annotations = annotationsOf(metadata.annotations);
    if (list === followed.services.name) {
      if (type !== "ExternalName")
        for (const one of sendersOfService({ annotations, type, clusterIP, externalTrafficPolicy }))
          this.#add(one);
      return;
    }
    const kind = routeKinds.find(({ name }) => name === list)?.kind;
    if (kind !== undefined) this.#routes.push(toldByRoute(kind, object));
  }

  /** Their classes may have been read after them. */
  lookAtRoutes(): void {
    for (const told of this.#routes) {
      const route = seenRoute(told, this.classes);
      const sender = senderOfRoute(route, []);
      if (sender === undefined) continue;
      this.#add(sender);
      const need = `ingress-class/${classOf(route)}`;
      const known = this.ofClasses.get(need);
      if (known === undefined || known.seconds < sender.seconds) this.ofClasses.set(need, sender);
    }
  }

  #add(sender: Sender): void {
    const known = this.all.get(sender.name);
    if (known) known.objects++;
    else this.all.set(sender.name, { sender, objects: 1 });
  }
}

/** "deployment/web"; "pod/web" of a pod that nothing has made. */
export function workloadTextOf(pod: Pod): string {
  const { kind, name } = workloadNameOf(pod) ?? { kind: "Pod", name: pod.metadata.name };
  return `${kind.toLowerCase()}/${name}`;
}

/** Of tens of thousands of pods one of each workload is kept as it is. */
class PodsSeen {
  readonly #workloads = new Map<string, { namespace: string; name: string; pods: number; pod: Pod }>();

  /** @returns what senders it shows, which is all that `Routing` keeps of it. */
  keep(pod: Pod): Showing | undefined {
    const { metadata, spec, status } = pod;
    if (metadata.deletionTimestamp !== undefined || /Succeeded|Failed/.test(status?.phase ?? "")) return;
    const { namespace = "" } = metadata;
    const workload = workloadTextOf(pod);
    const key = `${namespace}/${workload}`;
    const known = this.#workloads.get(key);
    if (known) known.pods++;
    else this.#workloads.set(key, { namespace, name: workload, pods: 1, pod });
    const senders = sendersOfPod(seenPod(pod));
    return senders.length === 0
      ? undefined
      : { metadata: identityOf(metadata), node: spec.nodeName, senders };
  }

  get workloads(): readonly WorkloadSeen[] {
    return [...this.#workloads.values()];
  }
}

/** The workloads of pods that are read already. */
export function workloadsOf(pods: readonly Pod[]): readonly WorkloadSeen[] {
  const seen = new PodsSeen();
  for (const pod of pods) seen.keep(pod);
  return seen.workloads;
}

/** Those of its init containers, too: a sidecar may be one. */
export const containersOf = ({ spec: { containers, initContainers = [] } }: Pod): readonly Container[] => [
  ...containers,
  ...initContainers,
];
