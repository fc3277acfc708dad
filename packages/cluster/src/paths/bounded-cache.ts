import type { KubernetesObject, ObjectMeta, QuotaOptions } from "@lameduck/kube";
import { type Convergence, convergenceOfRoute, convergenceOfService } from "./convergence.ts";
import {
  type GrantObject,
  keepMetadata,
  keepRoute,
  type RouteObject,
  type ServiceObject,
} from "./objects.ts";

/** What a Service tells of the pods that it leads to. */
export interface IndexedService extends KubernetesObject {
  readonly selector: readonly (readonly [key: string, value: string])[];
  readonly convergence: Convergence | undefined;
}

/** An Ingress or a route of a Gateway. */
export interface IndexedRoute extends KubernetesObject {
  readonly kind: string;
  /** As "NAMESPACE/NAME". */
  readonly services: readonly string[];
  readonly convergence: Convergence | undefined;
}

/** Pods carry some ten labels. */
const mostSelectorLabels = 64;
/** Distinct Services of one route. */
const mostBackends = 1_000;
/** The Gateway API allows 16. */
const mostGranted = 64;
/** The API server takes no longer name of a Service or a namespace. */
const longestName = 63;
/** What is kept of one kind's objects in one namespace: bytes, as far as they can be told without looking into the heap. */
const quotaSize = 3 * 1024 * 1024;
const perObject = 150;
/** Of V8's heap, beside the characters: a pair of texts, and a name with its place in an index (Node 24: 85 and 250 bytes). */
const perPair = 85;
const perIndexed = 250;

/** Something of an object is not looked at. `why` says what counts in its place. */
export type OnLeftOut = (part: string, metadata: ObjectMeta, why: string) => void;

/** Keeps little of each object, whatever it holds: whoever may write into one namespace must not fill the memory of all. */
export class BoundedCache {
  readonly #onLeftOut: OnLeftOut;

  constructor(onLeftOut: OnLeftOut) {
    this.#onLeftOut = onLeftOut;
  }

  /** None without a selector: somebody else keeps its endpoints. ExternalName has none. */
  service(service: ServiceObject): IndexedService | undefined {
    const { metadata, spec } = service;
    const selector = Object.entries(spec?.selector ?? {});
    if (selector.length === 0 || spec?.type === "ExternalName") return undefined;
    if (selector.length > mostSelectorLabels) {
      this.#onLeftOut(
        "services",
        metadata,
        `selects by ${selector.length} labels; by more than ${mostSelectorLabels} it counts as leading nowhere`,
      );
      return undefined;
    }
    return {
      metadata: identityOf(metadata),
      selector,
      convergence: convergenceOfService(service),
    };
  }

  route(part: string, kind: string): (route: RouteObject) => IndexedRoute {
    return (route) => {
      const { metadata } = route;
      const { services, ingressClassName } = keepRoute(kind)(route);
      const known = boundedBackends(services);
      if (services.length > mostBackends)
        this.#onLeftOut(
          part,
          metadata,
          `leads to ${services.length} Services; the first ${mostBackends} count`,
        );
      return {
        metadata: identityOf(metadata),
        kind,
        services: known,
        convergence: convergenceOfRoute(kind, ingressClassName, metadata.annotations),
      };
    };
  }

  grant({ metadata, spec: { from = [], to = [] } = {} }: GrantObject): GrantObject {
    return {
      metadata: identityOf(metadata),
      spec: {
        from: from.slice(0, mostGranted).map(({ kind = "", namespace = "" }) => ({ kind, namespace })),
        to: to
          .slice(0, mostGranted)
          .map(({ kind = "", name }) => ({ kind, ...(name === undefined ? {} : { name }) })),
      },
    };
  }

  quota<T extends Kept>(part: string, onListed?: (full: ReadonlySet<string>) => void): QuotaOptions<T> {
    return {
      ...(onListed && { onListed }),
      of: ({ metadata }) => metadata.namespace,
      sizeOf,
      most: quotaSize,
      onFull: ({ metadata }) =>
        this.#onLeftOut(
          part,
          metadata,
          "its namespace has more of them than are kept; it counts as not being there",
        ),
    };
  }
}

type Kept = KubernetesObject & Partial<IndexedService & IndexedRoute & GrantObject>;

/** Many short texts take far more memory than they have characters. */
function sizeOf(object: Kept): number {
  const { selector = [], services = [], spec: { from = [], to = [] } = {} } = object;
  const pairs = selector.length + from.length + to.length;
  return JSON.stringify(object).length + perObject + pairs * perPair + services.length * perIndexed;
}

/** The first ones of those that can be. */
export function boundedBackends(services: readonly string[]): readonly string[] {
  return services.filter((one) => one.length <= 2 * longestName + 1).slice(0, mostBackends);
}

function identityOf(metadata: ObjectMeta): ObjectMeta {
  return keepMetadata(metadata, /(?!)/);
}
