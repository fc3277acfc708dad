import type { Change } from "@lameduck/kube";
import { Grants } from "../../exposure/grants.ts";
import type { GrantObject } from "../../exposure/objects.ts";
import type { KeptGateway, KeptIngressClass, KeptRoute, KeptService } from "./routing-objects.ts";

/** What leads to a pod. Besides the nodes these must let go of it: "ingress-class/nginx", "gateway-class/envoy", "load-balancer/aws". */
export interface PodRoutes {
  /** A Service with a cluster IP leads to it, through the proxy of each node. */
  readonly throughNodes: boolean;
  /** Clients find its address by DNS. */
  readonly byName: boolean;
  readonly needs: readonly string[];
}

/** Needed where not all that leads to a pod is known. No consumer serves it, so that such a pod is never released. */
const leftOutNeed = "objects-left-out";

/** Services and what leads to them: Ingresses, Gateways, load balancers. */
export class Routing {
  readonly #services = new Map<string, KeptService>();
  readonly #routes = new Map<string, Map<string, KeptRoute>>();
  readonly #served = new Map<string, readonly string[]>();
  /** Class of each Gateway, by "NAMESPACE/NAME". */
  readonly #gateways = new Map<string, string>();
  readonly #classes = new Map<string, KeptIngressClass>();
  readonly #grants = new Grants();
  /** By kind: namespaces with more objects than are kept. */
  readonly #full = new Map<string, ReadonlySet<string>>();
  /** Routes of which not all is kept, by namespace. */
  readonly #cut = new Map<string, Set<string>>();
  #version = 0;

  /** Changes when an answer may. */
  get version(): number {
    return this.#version;
  }

  service({ type, object }: Change<KeptService>): void {
    this.#version++;
    const key = `${object.metadata.namespace}/${object.metadata.name}`;
    if (type === "gone") this.#services.delete(key);
    else this.#services.set(key, object);
  }

  route({ type, object }: Change<KeptRoute>): void {
    this.#version++;
    const { uid, namespace = "" } = object.metadata;
    this.#noteCut(namespace, uid, type === "there" && object.isCut);
    for (const service of this.#served.get(uid) ?? []) {
      const routes = this.#routes.get(service);
      routes?.delete(uid);
      if (routes?.size === 0) this.#routes.delete(service);
    }
    this.#served.delete(uid);
    if (type === "gone") return;
    this.#served.set(uid, object.services);
    for (const service of object.services) {
      const routes = this.#routes.get(service) ?? new Map<string, KeptRoute>();
      this.#routes.set(service, routes.set(uid, object));
    }
  }

  grant(change: Change<GrantObject>): void {
    this.#version++;
    this.#grants.take(change);
  }

  /** An object of this kind and namespace is not kept. */
  leftOut(kind: string, namespace: string): void {
    const full = this.#full.get(kind);
    if (full?.has(namespace)) return;
    this.#version++;
    this.#full.set(kind, new Set(full).add(namespace));
  }

  /** All objects of this kind have been listed anew: those of other namespaces than these are all kept. */
  listed(kind: string, full: ReadonlySet<string>): void {
    if (full.size > 0 || (this.#full.get(kind)?.size ?? 0) > 0) this.#version++;
    this.#full.set(kind, full);
  }

  gateway({ type, object }: Change<KeptGateway>): void {
    this.#version++;
    const key = `${object.metadata.namespace}/${object.metadata.name}`;
    if (type === "gone") this.#gateways.delete(key);
    else this.#gateways.set(key, object.gatewayClass);
  }

  ingressClass({ type, object }: Change<KeptIngressClass>): void {
    this.#version++;
    if (type === "gone") this.#classes.delete(object.metadata.name);
    else this.#classes.set(object.metadata.name, object);
  }

  /** @param services as "NAMESPACE/NAME". */
  of(services: Iterable<string>): PodRoutes {
    const needs = new Set<string>();
    let [throughNodes, byName] = [false, false];
    for (const name of services) {
      const [namespace = "", plain = ""] = name.split("/");
      const service = this.#services.get(name);
      if (this.#isFull(namespace) || this.#cut.has(namespace)) needs.add(leftOutNeed);
      // A Service that is gone still leads to its pods, until each proxy has applied that.
      if (service?.isHeadless === true) byName = true;
      else throughNodes = true;
      for (const need of service?.balancers ?? []) needs.add(need);
      for (const route of this.#routes.get(name)?.values() ?? [])
        if (this.#grants.allows({ kind: route.kind, from: route.metadata.namespace }, namespace, plain))
          for (const need of this.#needsOf(route)) needs.add(need);
    }
    return { throughNodes, byName, needs: [...needs] };
  }

  #isFull(namespace: string): boolean {
    return [...this.#full.values()].some((full) => full.has(namespace));
  }

  #noteCut(namespace: string, uid: string, isCut: boolean): void {
    const cut = this.#cut.get(namespace) ?? new Set();
    if (isCut) this.#cut.set(namespace, cut.add(uid));
    else if (cut.delete(uid) && cut.size === 0) this.#cut.delete(namespace);
  }

  #needsOf({ kind, ingressClassName, gateways }: KeptRoute): readonly string[] {
    if (kind === "Ingress") {
      const name =
        ingressClassName ?? [...this.#classes.values()].find(({ isDefault }) => isDefault)?.metadata.name;
      return [`ingress-class/${name ?? "none"}`];
    }
    const classes = gateways.map((gateway) => this.#gateways.get(gateway));
    return classes.map((name, at) => `gateway-class/${name ?? `of ${gateways[at]}`}`);
  }
}
