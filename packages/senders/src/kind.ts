import type { Preset } from "./preset.ts";

/**
 * A kind of sender to pods: everything that is known of it without asking it. Its reader, if there is one, is a file of the
 * watcher; nothing else in this repository knows a kind by name.
 */
export interface SenderKind {
  /** "aws": in reports of watchers, in `--consumer` and in policies. */
  readonly name: string;
  /** What one consumer of the kind carries: all traffic of its node, or that of a class, or of one Service. */
  readonly serves?: "node" | "class" | "service";
  /** A watcher can read it. */
  readonly consumer?: ConsumerFacts;
  /** The senders of the kind that can be seen in a cluster's objects, and how long they go on choosing a deleted pod. */
  readonly seen?: readonly Sender[];
  /** @param others the senders of kinds before this one that the Service has. */
  readonly ofService?: (service: SeenService, others: readonly Sender[]) => Sender | undefined;
  /**
   * How fast it is, for audit and webhook. Whom the coordinator waits for follows from the route's class alone:
   * packages/cluster/src/paths/route-kinds.ts.
   * @param services the senders of the Services that the route leads to.
   * @param isOwn one of its programs serves the class of the Ingress.
   * @returns undefined for routes of other kinds; `leadsToNodes` where the route is its own, but nodes choose the pods.
   */
  readonly ofRoute?: (
    route: SeenRoute,
    services: readonly Sender[],
    isOwn: boolean,
  ) => Sender | typeof leadsToNodes | undefined;
  /** Annotations that `ofRoute` reads. */
  readonly routeAnnotations?: readonly string[];
  /**
   * One of its consumers may have the Service's pods as targets. True in doubt: a consumer that nobody waits for
   * makes a release too early.
   */
  readonly mayTarget?: (service: SeenService) => boolean;
  /** Annotations of an Ingress whose values are names of Services. */
  readonly namesServices?: readonly string[];
  /** Its senders that objects of a cluster show, whether or not anybody reports for them. */
  readonly recognised?: readonly Recognised[];
  /** What serves classes of Ingresses and Gateways. */
  readonly programs?: readonly Program[];
  /** Annotations of Services by which a cloud's load balancer checks nodes. */
  readonly nodeChecks?: NodeChecks;
  /** Its health checks, which a new pod must pass first. */
  readonly podChecks?: PodChecks;
  /** Annotations that tell after how long it closes the connections of a target that it has let go of. */
  readonly closesAfter?: { readonly annotations: readonly string[]; readonly seconds: RegExp };
  /** Ways in which it converges, for lab and simulator. */
  readonly presets?: Readonly<Record<string, Preset>>;
}

export const leadsToNodes = "leads to nodes";

export interface ConsumerFacts {
  /** "aws=TARGET-GROUP-ARN" */
  readonly usage: string;
  readonly help: string;
  /** Rows of docs/operate/watchers.md. */
  readonly reads: readonly {
    /** `usage` unless given. */
    readonly form?: string;
    readonly what: string;
    readonly letGoWhen: string;
    /** "proof" unless given. */
    readonly basis?: "evidence";
  }[];
}

/** How long a sender is assumed to go on choosing a pod that is deleted. */
export interface Assumed {
  readonly seconds: number;
  /** Where the number comes from. */
  readonly because: string;
}

/** A sender that an object shows, and its convergence. */
export interface Sender extends Assumed {
  /** "AWS NLB (IP targets)" */
  readonly name: string;
  /** Of the number: "NLB". */
  readonly label: string;
  /** For people: by what in which object it is known. */
  readonly knownBy: string;
  /** The annotation of the object that says the number. */
  readonly annotation?: string;
  /** How the number comes about, where it is a sum. */
  readonly sum?: string;
  /** It chooses pods in place of the nodes to which it would send otherwise. */
  readonly replacesNodes?: boolean;
}

/** A manifest looks only at those that are asked for: others may be anything. */
export interface Annotations {
  get(name: string): string | undefined;
  names(): readonly string[];
}

/** Those of an object of a cluster. */
export function annotationsOf(all: Readonly<Record<string, string>> = {}): Annotations {
  return {
    get: (name) => (Object.hasOwn(all, name) ? all[name] : undefined),
    names: () => Object.keys(all),
  };
}

/** What can be recognised, of an object of a manifest or of a cluster. */
export interface SeenService {
  readonly annotations: Annotations;
  readonly type: string | undefined;
  readonly clusterIP: string | undefined;
  readonly externalTrafficPolicy: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly loadBalancerClass?: string | undefined;
  /** False where a load balancer needs no port of the nodes. */
  readonly allocateLoadBalancerNodePorts?: boolean | undefined;
}

/** An Ingress, or what leads to Services as an Ingress does. */
export interface SeenRoute {
  readonly kind: string;
  readonly annotations: Annotations;
  /** `spec.ingressClassName`. */
  readonly ingressClassName: string | undefined;
  /** `spec.controller` of its IngressClass, where that is known. */
  readonly controller?: string | undefined;
}

/** An IngressClass. */
export interface SeenClass {
  readonly metadata: { readonly name: string };
  readonly controller?: string | undefined;
  /** It serves Ingresses that name no class. */
  readonly isDefault: boolean;
}

/**
 * Senders that choose pods themselves, and that objects of a cluster show: a mesh by its sidecars, an ingress proxy by objects
 * of its own API group. Nobody need report for them. Where nobody does, the pods that they may choose are not released.
 */
export interface Recognised {
  /** What a reader of it reports to serve, and what `sendsNothing` of a DrainPolicy names: "mesh/istio". */
  readonly need: string;
  /** "Istio's sidecars" */
  readonly who: string;
  /** `--consumer` of a watcher that can report for it; undefined where none can. */
  readonly reader?: string;
  /** No pod stops sooner by its own evidence, where nobody reports for it: one that sends rarely leaves none. */
  readonly converges: Assumed;
  /** For people: by what it is known besides `objects`. */
  readonly knownBy?: string;
  /** Where upstream names that by which it is known. */
  readonly source: string;
  /** Where the pod sends: see `everyService`; or in place of kube-proxy, from its node. */
  readonly ofPod?: (pod: SeenPod) => readonly string[] | "its node" | undefined;
  /** The pod is the proxy of its node, beside kube-proxy: each node that has one needs a reader of it. */
  readonly isOfNode?: (pod: SeenPod) => boolean;
  readonly ofService?: (service: SeenService) => boolean;
  /** Where pods of the namespace send, or who sends to them. */
  readonly ofNamespace?: (namespace: SeenNamespace) => readonly string[] | undefined;
  readonly objects?: readonly ObjectKind[];
}

/** A proxy or load balancer that serves classes of Ingresses or Gateways. */
export interface Program {
  /** "Contour's Envoy" */
  readonly who: string;
  /** How `spec.controller` of its IngressClass begins, or `spec.controllerName` of its GatewayClass. */
  readonly classes: readonly string[];
  /** What its IngressClasses are usually called. It counts where a class does not tell its controller. */
  readonly names?: RegExp;
  /** How long it keeps an idle connection to a pod; undefined where it keeps none, or nothing is known. */
  readonly keepsIdle?: KeepsIdle;
  /** Its own pods, beside which a watcher reads it. */
  readonly isProxy?: (pod: SeenPod) => boolean;
  /**
   * What tells the classes that such a pod may serve. Two that have no text in common serve no class in common.
   * @returns undefined where the pod may serve any.
   */
  readonly serves?: (pod: SeenPod) => readonly string[] | undefined;
  /** `--consumer` of a watcher that reads it; undefined where none can. */
  readonly consumer?: string;
  /** What must be so first, for people. */
  readonly needs?: string;
  /** The reader follows what is published of this program, and has never been run against it: it is off unless somebody chooses it. */
  readonly isUntried?: true;
  /** What the watcher needs of the pod: to see its processes. */
  readonly sharesProcesses?: true;
}

export interface KeepsIdle {
  readonly name: string;
  readonly seconds: number;
  /** The setting of which it is the default: "Traefik (idleConnTimeout)". */
  readonly defaultOf?: string;
  /** Where there is no such setting. */
  readonly because?: string;
  /** The annotation of an Ingress that may tell another number. */
  readonly annotation?: readonly [name: string, seconds: RegExp];
}

/** Objects that lead to Services. */
export interface ObjectKind {
  readonly group: string;
  /** Those that are known, the best one first. */
  readonly versions: readonly string[];
  readonly kind: string;
  readonly plural: string;
  readonly read: (object: SeenObject) => LedTo;
}

export interface LedTo {
  readonly services: readonly string[];
  /** What the senders' readers report to serve. It is `need` of the entry unless given. */
  readonly by?: readonly string[];
  /** Where the object tells more than `converges` of the entry. */
  readonly converges?: Assumed | undefined;
}

type Texts = Readonly<Record<string, string>>;

export interface SeenObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Texts;
    readonly annotations?: Texts;
  };
  readonly spec?: unknown;
}

export interface SeenNamespace {
  readonly name: string;
  readonly labels: Texts;
}

export interface SeenPod {
  readonly namespace: string;
  readonly labels: Texts;
  readonly annotations: Texts;
  /** Init containers among them: a sidecar may be one. */
  readonly containers: readonly SeenContainer[];
}

export interface SeenContainer {
  readonly name: string;
  readonly image?: string;
  readonly command?: readonly string[] | null;
  readonly args?: readonly string[] | null;
  readonly env?: readonly { readonly name: string; readonly value?: string }[] | null;
}

export interface NodeChecks {
  readonly interval: string;
  readonly threshold: string;
  readonly timeout?: string;
  /** Of a Service that has an annotation with such a beginning. Seconds, failures, seconds. */
  readonly defaults?: CheckDefaults & { readonly prefix: string };
}

export interface CheckDefaults {
  readonly of: string;
  readonly interval: number;
  readonly threshold: number;
  readonly timeout: number;
}

interface PodChecks {
  /** Namespaces with it have pods that are not ready before they have passed. */
  readonly gateLabel: readonly [name: string, value: string];
  readonly checks: readonly {
    readonly name: string;
    readonly on: "routes" | "services";
    /** The annotation that says that pods are checked. */
    readonly when: readonly [annotation: string, value: string];
    /** Annotation and default, seconds. */
    readonly interval: readonly [annotation: string, seconds: number];
    /** Annotation and default. */
    readonly successes: readonly [annotation: string, count: number];
  }[];
}

export const classAnnotation = "kubernetes.io/ingress.class";

/** Empty where the route names none. */
export function classOf({ ingressClassName, annotations }: SeenRoute): string {
  return ingressClassName ?? annotations.get(classAnnotation) ?? "";
}

/**
 * With what its IngressClass says.
 * An Ingress that names no class gets the default one, as the API server gives it.
 */
export function withClass(route: SeenRoute, classes: Iterable<SeenClass>): SeenRoute {
  if (!isIngress(route)) return route;
  const name = classOf(route);
  for (const { metadata, controller, isDefault } of classes)
    if (name === "" ? isDefault : metadata.name === name)
      return { ...route, ingressClassName: metadata.name, controller };
  return route;
}

export function isDefaultClass(annotations: Annotations): boolean {
  return annotations.get("ingressclass.kubernetes.io/is-default-class") === "true";
}

export function isIngress({ kind }: SeenRoute): boolean {
  return kind === "Ingress";
}
