import type { Change } from "@lameduck/kube";
import { convergenceOf, type Convergence } from "./convergence.ts";
import type { GrantObject, KeptRoute, ServiceObject } from "./objects.ts";

type Labels = Readonly<Record<string, unknown>>;

export interface SelectingService {
  readonly name: string;
  readonly wanted: readonly (readonly [string, string])[];
}

interface Selecting extends SelectingService {
  readonly object: ServiceObject;
}

/** What leads to a pod. */
export interface Exposure {
  /** "Service web", "Ingress shop". */
  readonly exposedBy: readonly string[];
  /** The convergence of the slowest of them. */
  readonly convergence: Convergence | undefined;
}

/**
 * Services and what leads to them, by namespace: a question about a pod costs as much as its namespace has Services. Only a
 * Service leads to pods; Ingresses and routes lead to Services.
 */
export class SenderIndex {
  readonly #services = new Map<string, Map<string, Selecting>>();
  /** By "NAMESPACE/SERVICE". */
  readonly #routes = new Map<string, Map<string, KeptRoute>>();
  /** By namespace. */
  readonly #grants = new Map<string, Map<string, GrantObject>>();
  readonly #served = new Map<string, readonly string[]>();
  readonly #convergences = new WeakMap<object, Convergence | undefined>();

  service({ type, object }: Change<ServiceObject>): void {
    const { uid, namespace = "", name } = object.metadata;
    const wanted = Object.entries(object.spec?.selector ?? {});
    // Without a selector somebody else keeps its endpoints; ExternalName has none.
    if (type === "gone" || wanted.length === 0 || object.spec?.type === "ExternalName")
      removeFrom(this.#services, namespace, uid);
    else addTo(this.#services, namespace, uid, { name, wanted, object });
  }

  route({ type, object }: Change<KeptRoute>): void {
    const { uid } = object.metadata;
    for (const service of this.#served.get(uid) ?? []) removeFrom(this.#routes, service, uid);
    this.#served.delete(uid);
    if (type === "gone") return;
    this.#served.set(uid, object.services);
    for (const service of object.services) addTo(this.#routes, service, uid, object);
  }

  grant({ type, object }: Change<GrantObject>): void {
    const { uid, namespace = "" } = object.metadata;
    if (type === "gone") removeFrom(this.#grants, namespace, uid);
    else addTo(this.#grants, namespace, uid, object);
  }

  /** The Services that select such a pod, and by what. */
  selecting(namespace: string, labels: Labels): readonly SelectingService[] {
    return this.#selecting(namespace, labels);
  }

  of(namespace: string, labels: Labels): Exposure {
    const exposedBy: string[] = [];
    let slowest: Convergence | undefined;
    const slower = (object: ServiceObject | KeptRoute): void => {
      const convergence = this.#convergence(object);
      if (convergence && convergence.value > (slowest?.value ?? -1)) slowest = convergence;
    };
    for (const { name, object } of this.#selecting(namespace, labels)) {
      exposedBy.push(`Service ${name}`);
      slower(object);
      for (const route of this.#routes.get(`${namespace}/${name}`)?.values() ?? []) {
        if (!this.#mayLead(route, namespace, name)) continue;
        exposedBy.push(`${route.kind} ${route.metadata.name}`);
        slower(route);
      }
    }
    return { exposedBy: [...new Set(exposedBy)], convergence: slowest };
  }

  /** A Gateway ignores a backend in another namespace unless a ReferenceGrant there names the route's kind and namespace. */
  #mayLead({ kind, metadata }: KeptRoute, namespace: string, service: string): boolean {
    if (metadata.namespace === namespace) return true;
    const grants = [...(this.#grants.get(namespace)?.values() ?? [])];
    return grants.some(
      ({ spec: { from = [], to = [] } = {} }) =>
        from.some((one) => one.kind === kind && one.namespace === metadata.namespace) &&
        to.some((one) => one.kind === "Service" && (one.name ?? service) === service),
    );
  }

  #selecting(namespace: string, labels: Labels): Selecting[] {
    return [...(this.#services.get(namespace)?.values() ?? [])].filter(({ wanted }) =>
      wanted.every(([key, value]) => labels[key] === value),
    );
  }

  /** Each object is asked once: most never are. */
  #convergence(object: ServiceObject | KeptRoute): Convergence | undefined {
    if (!this.#convergences.has(object)) this.#convergences.set(object, convergenceOf(object));
    return this.#convergences.get(object);
  }
}

function addTo<T>(all: Map<string, Map<string, T>>, key: string, uid: string, value: T): void {
  const known = all.get(key);
  if (known) known.set(uid, value);
  else all.set(key, new Map([[uid, value]]));
}

function removeFrom<T>(all: Map<string, Map<string, T>>, key: string, uid: string): void {
  const known = all.get(key);
  known?.delete(uid);
  if (known?.size === 0) all.delete(key);
}
