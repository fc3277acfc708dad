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
   * @returns undefined for routes of other kinds; `leadsToNodes` where the route is its own, but nodes choose the pods.
   */
  readonly ofRoute?: (
    route: SeenRoute,
    services: readonly Sender[],
  ) => Sender | typeof leadsToNodes | undefined;
  /**
   * One of its consumers may have the Service's pods as targets. True in doubt: a consumer that nobody waits for
   * makes a release too early.
   */
  readonly mayTarget?: (annotations: Annotations) => boolean;
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
  /** Rows of docs/consumers.md. */
  readonly reads: readonly {
    /** `usage` unless given. */
    readonly form?: string;
    readonly what: string;
    readonly letGoWhen: string;
    /** "proof" unless given. */
    readonly basis?: "evidence";
  }[];
}

/** A sender that an object shows, and its convergence. */
export interface Sender {
  /** "AWS NLB (IP targets)" */
  readonly name: string;
  /** Of the number: "NLB". */
  readonly label: string;
  readonly seconds: number;
  /** Where the number comes from. */
  readonly because: string;
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
}

/** An Ingress, or what leads to Services as an Ingress does. */
export interface SeenRoute {
  readonly kind: string;
  readonly annotations: Annotations;
  /** `spec.ingressClassName`. */
  readonly ingressClassName: string | undefined;
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

const classAnnotation = "kubernetes.io/ingress.class";

/** Empty where the route names none. */
export function classOf({ ingressClassName, annotations }: SeenRoute): string {
  return ingressClassName ?? annotations.get(classAnnotation) ?? "";
}

export function isIngress({ kind }: SeenRoute): boolean {
  return kind === "Ingress";
}
