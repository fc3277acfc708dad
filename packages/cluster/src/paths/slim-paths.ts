import type { KubernetesObject, ObjectMeta, QuotaOptions } from "@lameduck/kube";
import { identityOf } from "../objects.ts";
import {
  annotationsOf,
  everyService,
  isDefaultClass,
  type KeptAddresses,
  keptAddressesOf,
  type SeenClass,
} from "@lameduck/senders";
import { type Convergence, convergenceOfService, type ToldByRoute, toldByRoute } from "./convergence.ts";
import { gatewayGroup, isService, type RouteKind, type RouteObject } from "./route-kinds.ts";
import { needsOf, type ServiceObject } from "./services.ts";

/** Lets routes of other namespaces lead to Services of its own. */
export interface GrantObject extends KubernetesObject {
  readonly spec?: {
    readonly from?: readonly {
      readonly group?: string;
      readonly kind?: string;
      readonly namespace?: string;
    }[];
    readonly to?: readonly { readonly group?: string; readonly kind?: string; readonly name?: string }[];
  };
}

interface GatewayObject extends KubernetesObject {
  readonly spec?: { readonly gatewayClassName?: string };
}

export interface SlimService extends KubernetesObject {
  readonly selector: readonly (readonly [key: string, value: string])[];
  readonly isHeadless: boolean;
  /** Of a headless one. */
  readonly keptAddresses?: KeptAddresses;
  /** The proxy of a node chooses pods of this node only, for some of its senders. */
  readonly isLocal: boolean;
  /** Who sends to its pods besides nodes, as the Service itself shows: "load-balancer/aws/shop/web". */
  readonly needs: readonly string[];
  readonly convergence: Convergence | undefined;
}

/** An object of one of the kinds that lead to Services. */
export interface SlimRoute extends KubernetesObject {
  readonly kind: string;
  /** As "NAMESPACE/NAME"; see `everyService`, too. */
  readonly services: readonly string[];
  /** It may lead to Services of other namespaces without a ReferenceGrant. */
  readonly needsNoGrant: boolean;
  /** Who sends by it: see `RouteFacts`. */
  readonly through: readonly string[];
  /** More stands in it than is kept. */
  readonly isCut: boolean;
  /** Of its sender; or by what the sender is known, where its class tells that. */
  readonly convergence: Convergence | ToldByRoute | undefined;
}

export interface SlimGateway extends KubernetesObject {
  readonly gatewayClass: string;
}

export type SlimIngressClass = KubernetesObject & SeenClass;

interface IngressClassObject extends KubernetesObject {
  readonly spec?: { readonly controller?: string };
}

/** Something of an object is not looked at. `why` says what counts in its place. */
export type OnLeftOut = (part: string, metadata: ObjectMeta, why: string) => void;

export interface SlimPathsOptions {
  /**
   * By the labels of a pod that no EndpointSlice lists yet, for how long its senders take to converge. Or by the Services that
   * list a pod, for who sends to it. What a question does not need is not kept, unless both are asked.
   */
  readonly asks: "by labels" | "by Services" | "both";
  readonly onLeftOut?: OnLeftOut;
  /** Objects of this namespace are not kept. */
  readonly onFull?: (part: string, namespace: string) => void;
  /** All objects have been listed anew. Those of other namespaces than these are all kept. */
  readonly onListed?: (part: string, full: ReadonlySet<string>) => void;
}

const none: readonly never[] = [];
/** Pods carry some ten labels. */
const mostSelectorLabels = 64;
/** Distinct Services of one route. */
const mostServices = 1_000;
/** The Gateway API allows a route 32 Gateways. */
const mostThrough = 32;
/** The Gateway API allows 16. */
const mostGranted = 64;
/** The API server takes no longer name of a Service or a namespace. */
const longestName = 63;
/** What is kept of one kind's objects in one namespace: bytes, as far as they can be told without looking into the heap. */
const quotaBytes = 3 * 1024 * 1024;
const perObjectBytes = 150;
/** Of V8's heap, beside the characters: a pair of texts, and a name with its place in an index (Node 24: 85 and 250 bytes). */
const perPairBytes = 85;
const perIndexedBytes = 250;

/** Makes slim what leads to pods, whatever it holds: whoever may write into one namespace must not fill the memory of all. */
export class SlimPaths {
  readonly #options: SlimPathsOptions;

  constructor(options: SlimPathsOptions) {
    this.#options = options;
  }

  /** By labels none is found without a selector, whose endpoints somebody else keeps, and none of type ExternalName. */
  service(service: ServiceObject): SlimService | undefined {
    const { metadata, spec } = service;
    const selector = this.#selectorOf(service);
    if (!this.#asksByServices && selector.length === 0) return undefined;
    const isHeadless = spec?.clusterIP === "None";
    return {
      metadata: identityOf(metadata),
      selector,
      isHeadless,
      ...(isHeadless && this.#asksByServices
        ? { keptAddresses: keptAddressesOf(annotationsOf(metadata.annotations), spec?.ports) }
        : {}),
      isLocal: spec?.internalTrafficPolicy === "Local" || spec?.externalTrafficPolicy === "Local",
      needs: this.#asksByServices ? needsOf(service) : none,
      convergence: this.#asksByLabels ? convergenceOfService(service) : undefined,
    };
  }

  route(kind: RouteKind): (route: RouteObject) => SlimRoute {
    const { name, version, read, needsNoGrant = false } = kind;
    return (route) => {
      const { metadata } = route;
      const { services, through, convergence } = read(route);
      const all = new Set(services);
      const kept = [...all].filter(({ length }) => length <= 2 * longestName + 1).slice(0, mostServices);
      if (all.size > mostServices)
        this.#options.onLeftOut?.(
          name,
          metadata,
          `leads to ${all.size} Services; the first ${mostServices} count`,
        );
      const identity = identityOf(metadata);
      return {
        // In each version it is another object: when one of them is served no more, the other still counts.
        metadata: version === undefined ? identity : { ...identity, uid: `${identity.uid}/${version}` },
        kind: kind.kind,
        services: kept,
        needsNoGrant,
        through: this.#asksByServices ? through.slice(0, mostThrough) : none,
        isCut: kept.length < all.size || through.length > mostThrough,
        convergence: convergence ?? toldByRoute(kind.kind, route),
      };
    };
  }

  /** @param reachesAll whether its objects may lead to Services of any namespace. */
  quota<T extends Slim>(part: string, reachesAll = false): QuotaOptions<T> {
    const { onLeftOut, onFull, onListed } = this.#options;
    return {
      of: ({ metadata }) => metadata.namespace,
      sizeOf,
      most: quotaBytes,
      onFull: ({ metadata }) => {
        onFull?.(part, reachesAll ? everyService : (metadata.namespace ?? ""));
        onLeftOut?.(
          part,
          metadata,
          "its namespace has more of them than are kept; it counts as not being there",
        );
      },
      ...(onListed && {
        onListed: (full) => onListed(part, reachesAll && full.size > 0 ? new Set([everyService]) : full),
      }),
    };
  }

  get #asksByLabels(): boolean {
    return this.#options.asks !== "by Services";
  }

  get #asksByServices(): boolean {
    return this.#options.asks !== "by labels";
  }

  #selectorOf({ metadata, spec }: ServiceObject): SlimService["selector"] {
    if (!this.#asksByLabels || spec?.type === "ExternalName") return none;
    const selector = Object.entries(spec?.selector ?? {});
    if (selector.length <= mostSelectorLabels) return selector;
    this.#options.onLeftOut?.(
      "services",
      metadata,
      `selects by ${selector.length} labels; by more than ${mostSelectorLabels} it counts as leading nowhere`,
    );
    return none;
  }
}

/** Keeps what lets routes of the Gateway API lead to Services. */
export function slimGrant({ metadata, spec: { from = [], to = [] } = {} }: GrantObject): GrantObject {
  return {
    metadata: identityOf(metadata),
    spec: {
      from: from
        .filter(({ group }) => group === gatewayGroup)
        .slice(0, mostGranted)
        .map(({ kind = "", namespace = "" }) => ({ kind, namespace })),
      to: to
        .filter(isService)
        .slice(0, mostGranted)
        .map(({ name }) => (name === undefined ? {} : { name })),
    },
  };
}

export function slimGateway({ metadata, spec }: GatewayObject): SlimGateway {
  return { metadata: identityOf(metadata), gatewayClass: spec?.gatewayClassName ?? "none" };
}

export function slimIngressClass({ metadata, spec }: IngressClassObject): SlimIngressClass {
  return {
    metadata: identityOf(metadata),
    controller: spec?.controller,
    isDefault: isDefaultClass(annotationsOf(metadata.annotations)),
  };
}

type Slim = KubernetesObject & Partial<Omit<SlimService, "convergence"> & SlimRoute & GrantObject>;

/** Many short texts take far more memory than they have characters. */
function sizeOf(object: Slim): number {
  const { selector = [], services = [], spec: { from = [], to = [] } = {} } = object;
  const pairs = selector.length + from.length + to.length;
  const texts = pairs * perPairBytes + services.length * perIndexedBytes;
  return JSON.stringify(object).length + perObjectBytes + texts;
}
