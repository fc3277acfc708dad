import type { Change } from "@lameduck/kube";
import type { Convergence } from "./convergence.ts";
import type { IndexedRoute, IndexedService } from "./bounded-cache.ts";
import { Grants } from "./grants.ts";
import type { GrantObject } from "./objects.ts";

type Labels = Readonly<Record<string, unknown>>;

export interface SelectingService {
  readonly name: string;
  readonly selector: readonly (readonly [string, string])[];
}

/** What leads to a pod. */
export interface Exposure {
  /** "Service web", "Ingress shop": the first ones. */
  readonly exposedBy: readonly string[];
  /** The convergence of the slowest of all. */
  readonly convergence: Convergence | undefined;
}

/** No reader needs more. */
const mostNamed = 20;

/**
 * Services and what leads to them, by namespace: a question about a pod costs as much as its namespace has Services. Only a
 * Service leads to pods; Ingresses and routes lead to Services.
 */
export class SenderIndex {
  readonly #services = new Map<string, Map<string, IndexedService>>();
  /** By "NAMESPACE/SERVICE". */
  readonly #routes = new Map<string, Map<string, IndexedRoute>>();
  readonly #grants = new Grants();
  readonly #served = new Map<string, readonly string[]>();

  service({ type, object }: Change<IndexedService>): void {
    const { uid, namespace = "" } = object.metadata;
    if (type === "gone") removeFrom(this.#services, namespace, uid);
    else addTo(this.#services, namespace, uid, object);
  }

  /** @param version a route that is served in two is known by both: when one of them is served no more, the other still counts. */
  route({ type, object }: Change<IndexedRoute>, version = ""): void {
    const uid = `${object.metadata.uid}/${version}`;
    for (const service of this.#served.get(uid) ?? []) removeFrom(this.#routes, service, uid);
    this.#served.delete(uid);
    if (type === "gone") return;
    this.#served.set(uid, object.services);
    for (const service of object.services) addTo(this.#routes, service, uid, object);
  }

  grant(change: Change<GrantObject>): void {
    this.#grants.take(change);
  }

  /** The Services that select such a pod, and by what. */
  selecting(namespace: string, labels: Labels): readonly SelectingService[] {
    return this.#selecting(namespace, labels).map(({ metadata: { name }, selector }) => ({
      name,
      selector,
    }));
  }

  of(namespace: string, labels: Labels): Exposure {
    const exposedBy = new Set<string>();
    let slowest: Convergence | undefined;
    const add = (kind: string, { metadata, convergence }: IndexedService | IndexedRoute): void => {
      if (exposedBy.size < mostNamed) exposedBy.add(`${kind} ${metadata.name}`);
      if (convergence && convergence.value > (slowest?.value ?? -1)) slowest = convergence;
    };
    const isLetIn = this.#grantCheck(namespace);
    for (const service of this.#selecting(namespace, labels)) {
      add("Service", service);
      const { name } = service.metadata;
      for (const route of this.#routes.get(`${namespace}/${name}`)?.values() ?? [])
        if (isLetIn(route, name)) add(route.kind, route);
    }
    return { exposedBy: [...exposedBy], convergence: slowest };
  }

  /** Anybody may make thousands of routes that lead nowhere: grants are looked through once for each namespace that they come from. */
  #grantCheck(namespace: string): (route: IndexedRoute, service: string) => boolean {
    const answers = new Map<string, boolean>();
    return ({ kind, metadata }, service) => {
      if (metadata.namespace === namespace) return true;
      const question = `${kind}/${metadata.namespace}/${service}`;
      const known = answers.get(question);
      if (known !== undefined) return known;
      const answer = this.#grants.allows({ kind, from: metadata.namespace }, namespace, service);
      answers.set(question, answer);
      return answer;
    };
  }

  #selecting(namespace: string, labels: Labels): IndexedService[] {
    const services = [...(this.#services.get(namespace)?.values() ?? [])];
    return services.filter(({ selector }) => selector.every(([key, value]) => labels[key] === value));
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
