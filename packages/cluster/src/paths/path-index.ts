import type { Change, KubernetesObject } from "@lameduck/kube";
import { type Convergence, convergenceOfRoute, slowerOf } from "./convergence.ts";
import { placesOf } from "./places.ts";
import type { GrantObject, SlimIngressClass, SlimRoute, SlimService } from "./slim-paths.ts";

type Labels = Readonly<Record<string, unknown>>;

export interface SelectingService {
  readonly name: string;
  readonly selector: SlimService["selector"];
}

/** The Services, Ingresses and routes that lead to a pod with certain labels. */
export interface TrafficPaths {
  /** The first of them by name, Services before routes: "Service web", "Ingress shop". */
  readonly exposedBy: readonly string[];
  /** The convergence of the slowest sender. */
  readonly convergence: Convergence | undefined;
}

const none: readonly never[] = [];
/** More names would help no reader. */
const mostNamed = 20;

/**
 * Services and what leads to them. Only a Service leads to pods; Ingresses and routes lead to Services. A question about a pod
 * costs as much as its namespace has Services.
 */
export class PathIndex {
  /** Services, by namespace and name. */
  readonly #services = new Map<string, Map<string, SlimService>>();
  /** Routes to a Service, by "NAMESPACE/SERVICE" and the uid of the route. */
  readonly #routes = new Map<string, Map<string, SlimRoute>>();
  /** Services by the uid of the route that leads to them. */
  readonly #servicesOf = new Map<string, readonly string[]>();
  /** ReferenceGrants, by the namespace that they open, and uid. */
  readonly #grants = new Map<string, Map<string, GrantObject>>();
  /** By name. */
  readonly #classes = new Map<string, SlimIngressClass>();
  /** As the classes say it now. Anybody can make thousands of routes, and each new pod asks about all of them. */
  #convergences = new WeakMap<SlimRoute, Convergence | undefined>();

  service(change: Change<SlimService>): void {
    const { namespace = "", name } = change.object.metadata;
    put(this.#services, namespace, name, change);
  }

  route(change: Change<SlimRoute>): void {
    const { object, type } = change;
    const { uid } = object.metadata;
    for (const service of this.servicesOf(uid)) put(this.#routes, service, uid, { type: "gone", object });
    this.#servicesOf.delete(uid);
    if (type === "gone" || object.services.length === 0) return;
    this.#servicesOf.set(uid, object.services);
    for (const service of object.services) put(this.#routes, service, uid, change);
  }

  grant(change: Change<GrantObject>): void {
    const { uid, namespace = "" } = change.object.metadata;
    put(this.#grants, namespace, uid, change);
  }

  ingressClass({ type, object }: Change<SlimIngressClass>): void {
    const { uid, name } = object.metadata;
    if (type === "there") this.#classes.set(name, object);
    else if (this.#classes.get(name)?.metadata.uid === uid) this.#classes.delete(name);
    this.#convergences = new WeakMap();
  }

  /** The class of Ingresses that name none. */
  get defaultClass(): string | undefined {
    return [...this.#classes.values()].find(({ isDefault }) => isDefault)?.metadata.name;
  }

  /** `spec.controller` of an IngressClass. */
  controllerOf(ingressClass: string): string | undefined {
    return this.#classes.get(ingressClass)?.controller;
  }

  /** That of the sender behind a route; undefined where nodes choose the pods. */
  convergenceOf(route: SlimRoute): Convergence | undefined {
    const { convergence: told } = route;
    if (told === undefined || "value" in told) return told;
    if (!this.#convergences.has(route))
      this.#convergences.set(route, convergenceOfRoute(told, this.#classes.values()));
    return this.#convergences.get(route);
  }

  /** @param service as "NAMESPACE/NAME", here and below. */
  serviceAt(service: string): SlimService | undefined {
    const [namespace = "", name = ""] = service.split("/");
    return this.#services.get(namespace)?.get(name);
  }

  /** All Services, as "NAMESPACE/NAME". */
  *services(): Generator<string> {
    for (const [namespace, all] of this.#services)
      for (const name of all.keys()) yield `${namespace}/${name}`;
  }

  /** The Services to which a route leads. */
  servicesOf(uid: string): readonly string[] {
    return this.#servicesOf.get(uid) ?? [];
  }

  /** Services to which a route of this kind leads, whether or not a ReferenceGrant lets the route in. */
  servicesBehind(isMeant: (route: SlimRoute) => boolean): readonly string[] {
    return [...this.#routes].flatMap(([service, routes]) =>
      [...routes.values()].some(isMeant) ? [service] : [],
    );
  }

  /** Services of the namespace to which any route leads, whether or not a ReferenceGrant lets the route in. */
  routedIn(namespace: string): readonly string[] {
    return [...this.#routes.keys()].filter((service) => service.startsWith(`${namespace}/`));
  }

  /** The routes that may lead to a Service. Anybody can make thousands of routes, so grants are searched once for each kind and namespace. */
  routesTo(service: string): readonly SlimRoute[] {
    const places = placesOf(service).flatMap((place) => this.#routes.get(place) ?? []);
    if (places.length === 0) return none;
    const routes = new Set(places.flatMap((all) => [...all.values()]));
    const [namespace = "", name = ""] = service.split("/");
    const answers = new Map<string, boolean>();
    return [...routes].filter(({ kind, metadata, needsNoGrant }) => {
      if (metadata.namespace === namespace || needsNoGrant) return true;
      const from = `${kind}/${metadata.namespace}`;
      const isLetIn = answers.get(from) ?? this.#letsIn(kind, metadata.namespace, namespace, name);
      answers.set(from, isLetIn);
      return isLetIn;
    });
  }

  /** The Services that select a pod with these labels, with their selectors. */
  selecting(namespace: string, labels: Labels): readonly SelectingService[] {
    return this.#selecting(namespace, labels).map(({ metadata: { name }, selector }) => ({ name, selector }));
  }

  pathsTo(namespace: string, labels: Labels): TrafficPaths {
    const services = this.#selecting(namespace, labels);
    const routes = services.flatMap(({ metadata: { name } }) => this.routesTo(`${namespace}/${name}`));
    const exposedBy = [
      ...namesOf(services.map(({ metadata }) => `Service ${metadata.name}`)),
      ...namesOf(routes.map(({ kind, metadata }) => `${kind} ${metadata.name}`)),
    ].slice(0, mostNamed);
    const all = [
      ...services.map(({ convergence }) => convergence),
      ...routes.map((route) => this.convergenceOf(route)),
    ];
    return { exposedBy, convergence: all.reduce(slowerOf, undefined) };
  }

  #selecting(namespace: string, labels: Labels): SlimService[] {
    const services = [...(this.#services.get(namespace)?.values() ?? [])];
    return services.filter(
      ({ selector }) => selector.length > 0 && selector.every(([key, value]) => labels[key] === value),
    );
  }

  /** A Gateway ignores a backend in another namespace unless a ReferenceGrant there names the route's kind and namespace. */
  #letsIn(kind: string, from: string | undefined, to: string, service: string): boolean {
    for (const { spec = {} } of this.#grants.get(to)?.values() ?? []) {
      const isFrom = spec.from?.some((one) => one.kind === kind && one.namespace === from);
      if (isFrom && spec.to?.some(({ name = service }) => name === service)) return true;
    }
    return false;
  }
}

/** Each once, in an order that does not depend on which list was read first. */
const namesOf = (all: readonly string[]): readonly string[] => [...new Set(all)].sort();

/** Applies a change to a map. When an object is gone, a newer object may have its key already, and stays. */
function put<T extends KubernetesObject>(
  all: Map<string, Map<string, T>>,
  group: string,
  key: string,
  { type, object }: Pick<Change<T>, "type" | "object">,
): void {
  const known = all.get(group);
  if (type === "there") {
    if (known) known.set(key, object);
    else all.set(group, new Map([[key, object]]));
  } else if (known?.get(key)?.metadata.uid === object.metadata.uid) {
    known.delete(key);
    if (known.size === 0) all.delete(group);
  }
}
