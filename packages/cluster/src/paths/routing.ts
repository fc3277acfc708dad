import type { Change, ObjectMeta } from "@lameduck/kube";
import { convergenceOf, everyService, isNodeNeed, type KeptAddresses } from "@lameduck/senders";
import { followed } from "../sources.ts";
import { FormerPaths, somethingLeftOut } from "./former-paths.ts";
import { LastTimes } from "./last-times.ts";
import { PathIndex } from "./path-index.ts";
import { placesOf } from "./places.ts";
import { byDefaultClass, byGateway } from "./route-kinds.ts";
import { type Showing, ShownSenders } from "./shown-senders.ts";
import type { GrantObject, SlimGateway, SlimIngressClass, SlimRoute, SlimService } from "./slim-paths.ts";

/** What leads to a pod. Besides the nodes these must let go of it: "ingress-class/nginx", "load-balancer/aws/shop/web". */
export interface PodRoutes {
  /** A Service with a cluster IP leads to it, through the proxy of each node. */
  readonly throughNodes: boolean;
  /** Clients find its address by DNS: how long they keep it, of each headless Service; empty where there is none. */
  readonly byName: readonly KeptAddresses[];
  readonly requiredReporters: readonly string[];
}

/** Required where the class is not known: no default one, or a Gateway that is not there. Nothing has led through it. */
const noClass = "ingress-class/none";
const classOf = "gateway-class/of ";
/** What leads to a Service besides what consumers report to serve: the proxies of nodes, and clients that know its pods by name. */
const byNodes = "nodes";
const byOwnNodes = "nodes, each to its own pods";
const byNames = "names, kept";

/** What leads to the pods of a Service now, and has a moment ago: Ingresses, Gateways, load balancers, and who else can be recognised. */
export class Routing {
  readonly #index = new PathIndex();
  /** By "NAMESPACE/NAME". */
  readonly #gateways = new Map<string, SlimGateway>();
  /** By kind: namespaces with more objects than are kept. */
  readonly #full = new Map<string, ReadonlySet<string>>();
  /** Routes of which not all is kept, by namespace. */
  readonly #cut = new Map<string, Set<string>>();
  readonly #shown = new ShownSenders();
  readonly #former = new FormerPaths();
  /** Something leads to the Service that did not, or may not have. */
  readonly #newPaths = new LastTimes();
  /** The Service has lost its last ready endpoint. */
  readonly #lostLastReady = new LastTimes();
  /** Proxies choose endpoints of the Service that were reserved for others. */
  readonly #hintsDropped = new LastTimes();
  #version = 0;

  /** Changes when an answer may. */
  get version(): number {
    return this.#version;
  }

  service(change: Change<SlimService>, now: number): void {
    const { namespace, name } = change.object.metadata;
    this.#changing([`${namespace}/${name}`], now, () => this.#index.service(change));
  }

  route(change: Change<SlimRoute>, now: number): void {
    const { type, object } = change;
    const { uid, namespace = "" } = object.metadata;
    const isThere = type === "there";
    this.#changing(
      new Set([...this.#index.servicesOf(uid), ...(isThere ? object.services : [])]),
      now,
      () => {
        this.#noteCut(object.needsNoGrant ? everyService : namespace, uid, isThere && object.isCut);
        this.#index.route(change);
      },
    );
  }

  grant(change: Change<GrantObject>, now: number): void {
    const { namespace = "" } = change.object.metadata;
    this.#changing(this.#index.routedIn(namespace), now, () => this.#index.grant(change));
  }

  /** A pod, or a namespace, and the senders that it shows. */
  shows(change: Change<Showing>, now: number): void {
    const { services, isOfNodes } = this.#shown.changedBy(change);
    if (isOfNodes) this.#version++;
    if (services.length === 0) this.#shown.take(change);
    else this.#changing(services, now, () => this.#shown.take(change));
  }

  /** Proxies that send from the node on which they run, in kube-proxy's place: by need, their nodes; undefined for all nodes. */
  *nodeProxies(): Generator<readonly [need: string, nodes: Iterable<string> | undefined]> {
    for (const need of this.#pathsTo(everyService)) if (isNodeNeed(need)) yield [need, undefined];
    for (const [need, nodes] of this.#shown.onNodes()) yield [need, nodes.keys()];
  }

  /** Proxies that send from the node on which they run, beside kube-proxy: by need, their nodes. */
  proxiesBeside(): Iterable<readonly [need: string, nodes: Iterable<string>]> {
    return this.#shown.besides();
  }

  /** All Services that are known, as "NAMESPACE/NAME". */
  get services(): Iterable<string> {
    return this.#index.services();
  }

  /** By what object it is known that a sender leads to one of these Services: "HTTPProxy shop/web"; undefined where none does any more. */
  shownBy(services: Iterable<string>, need: string): string | undefined {
    for (const service of services) {
      if (this.#index.serviceAt(service)?.needs.includes(need) === true) return `Service ${service}`;
      // The first by name, whichever list was read first.
      const [route] = this.#routesBy(service, need)
        .map(({ kind, metadata }) => `${kind} ${nameOf(metadata)}`)
        .sort();
      if (route) return route;
      for (const place of placesOf(service))
        for (const [one, metadata] of this.#shown.at(place))
          if (one === need)
            return `${metadata.namespace === undefined ? "Namespace" : "Pod"} ${nameOf(metadata)}`;
    }
    for (const [one, nodes] of this.#shown.onNodes())
      if (one === need) for (const [node, metadata] of nodes) return `Pod ${nameOf(metadata)} on ${node}`;
    return undefined;
  }

  /** For how many seconds whoever this is may choose a pod of these Services that is deleted, as far as their objects tell it. */
  convergenceOf(services: Iterable<string>, need: string): number | undefined {
    if (!mayBeUsed(need)) return undefined;
    const ofRoutes = Array.from(services, (service) => this.#routesBy(service, need))
      .flat()
      .flatMap((route) => this.#index.convergenceOf(route)?.value ?? []);
    return ofRoutes.length > 0 ? Math.max(...ofRoutes) : convergenceOf(need)?.seconds;
  }

  /** The routes to a Service by which whoever this is sends. */
  #routesBy(service: string, need: string): readonly SlimRoute[] {
    return this.#index
      .routesTo(service)
      .filter(({ through }) => through.some((one) => this.#reporterOf(one) === need));
  }

  /** `spec.controller` of an IngressClass; undefined where it is not known. */
  controllerOf(ingressClass: string): string | undefined {
    return this.#index.controllerOf(ingressClass);
  }

  /** Drops what has led somewhere for long enough ago. */
  forget(now: number): void {
    if (this.#former.forget(now)) this.#version++;
    this.#newPaths.forget(now);
    this.#lostLastReady.forget(now);
    this.#hintsDropped.forget(now);
  }

  /** Proxies may choose pods of the Service that they did not choose before, also such as are withdrawn already. */
  mayBeChosen(service: string, now: number): void {
    this.#newPaths.note(service, now);
  }

  /** The Service has no ready endpoint any more, or none on this node: where none is ready, proxies choose those that terminate. */
  lostLastReady(service: string, node: string | undefined, now: number): void {
    if (node === undefined || this.#index.serviceAt(service)?.isLocal === true)
      this.#lostLastReady.note(service, now, node);
  }

  /** Proxies choose ready endpoints of the Service that were reserved for other zones or nodes. */
  hintsDropped(service: string, now: number): void {
    this.#hintsDropped.note(service, now);
  }

  /**
   * When proxies may have begun to choose a pod of this node that is behind these Services. One that was not ready any more is chosen only where no
   * other is; one that was, and is chosen already, is not chosen anew.
   */
  chosenSince(services: readonly string[], node: string | undefined, withdrawnAt = Infinity): number {
    const lostLastReady = this.#lostLastReady.of(services, node);
    const hintsDropped = this.#hintsDropped.of(services, node);
    return Math.max(
      this.#newPaths.of(services, node),
      lostLastReady > withdrawnAt ? lostLastReady : -Infinity,
      hintsDropped < withdrawnAt ? hintsDropped : -Infinity,
    );
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

  gateway({ type, object }: Change<SlimGateway>, now: number): void {
    const { uid, namespace, name } = object.metadata;
    const key = `${namespace}/${name}`;
    const known = this.#gateways.get(key);
    if (type === "gone" && known?.metadata.uid !== uid) return;
    // Its status changes often.
    const isSame = type === "there" && known?.gatewayClass === object.gatewayClass;
    const services = isSame
      ? []
      : this.#index.servicesBehind(({ through }) => through.includes(byGateway + key));
    this.#changing(services, now, () => {
      if (type === "there") this.#gateways.set(key, object);
      else this.#gateways.delete(key);
    });
  }

  ingressClass(change: Change<SlimIngressClass>, now: number): void {
    const behind = this.#index.servicesBehind(({ through }) => through.includes(byDefaultClass));
    this.#changing(behind, now, () => this.#index.ingressClass(change));
  }

  /** Whether EndpointSlices of the namespace are not kept: any Service of it may list any of its pods. */
  lacksSlices(namespace: string): boolean {
    return this.#full.get(followed.endpointSlices.name)?.has(namespace) === true;
  }

  /** @param services as "NAMESPACE/NAME". @param ofPods the namespace of their pods. */
  of(services: Iterable<string>, ofPods = ""): PodRoutes {
    const paths = new Set<string>(this.lacksSlices(ofPods) ? [somethingLeftOut] : []);
    for (const service of services) {
      const [namespace = ""] = service.split("/");
      if ([namespace, everyService].some((one) => this.#isFull(one) || this.#cut.has(one)))
        paths.add(somethingLeftOut);
      // A Service that is gone still leads to its pods, until each proxy has applied that.
      if (!this.#index.serviceAt(service)) paths.add(byNodes);
      for (const path of this.#pathsTo(service)) paths.add(path);
      for (const path of this.#former.of(service)) paths.add(path);
    }
    const throughOwnNodes = paths.delete(byOwnNodes);
    const throughNodes = paths.delete(byNodes) || throughOwnNodes;
    const names = [...paths].filter((path) => path.startsWith(byNames));
    for (const path of names) paths.delete(path);
    return {
      throughNodes,
      byName: names.map(keptIn),
      requiredReporters: [...paths].filter((path) => !isNodeNeed(path)),
    };
  }

  /** Applies a change. What led to these Services before, and no longer does, counts for some time, and so does what is new. */
  #changing(services: Iterable<string>, now: number, change: () => void): void {
    const before = Array.from(services, (service) => ({
      service,
      paths: this.#pathsTo(service),
      gateways: this.#gatewaysTo(service),
    }));
    change();
    this.#version++;
    for (const { service, paths, gateways } of before) {
      const after = this.#pathsTo(service);
      for (const path of paths)
        if (!after.has(path) && mayBeUsed(path))
          this.#former.add(service, path, now, (convergenceOf(path)?.seconds ?? 0) * 1_000);
      const isNew = (path: string): boolean =>
        !paths.has(path) && !path.startsWith(byNames) && mayBeUsed(path);
      const isNewGateway = [...this.#gatewaysTo(service)].some((gateway) => !gateways.has(gateway));
      if (isNewGateway || [...after].some(isNew)) this.#newPaths.note(service, now);
    }
  }

  #pathsTo(service: string): Set<string> {
    const paths = new Set<string>();
    const known = this.#index.serviceAt(service);
    if (known)
      paths.add(known.isHeadless ? namesOf(known.keptAddresses) : known.isLocal ? byOwnNodes : byNodes);
    for (const need of known?.needs ?? []) paths.add(need);
    for (const place of placesOf(service)) for (const [need] of this.#shown.at(place)) paths.add(need);
    for (const { through } of this.#index.routesTo(service))
      for (const one of through) paths.add(this.#reporterOf(one));
    return paths;
  }

  /** Gateways of one class may have proxies of their own. One that is new to the Service does not know its pods yet. */
  #gatewaysTo(service: string): ReadonlySet<string> {
    const all = this.#index.routesTo(service).flatMap(({ through }) => through);
    return new Set(
      all.flatMap((one) => {
        const gateway = this.#gateways.get(gatewayIn(one) ?? "");
        return gateway ? [`${one} ${gateway.gatewayClass}`] : [];
      }),
    );
  }

  #isFull(namespace: string): boolean {
    return [...this.#full.values()].some((full) => full.has(namespace));
  }

  #noteCut(namespace: string, uid: string, isCut: boolean): void {
    const cut = this.#cut.get(namespace) ?? new Set();
    if (isCut) this.#cut.set(namespace, cut.add(uid));
    else if (cut.delete(uid) && cut.size === 0) this.#cut.delete(namespace);
  }

  /** @param through as a route names it. */
  #reporterOf(through: string): string {
    if (through === byDefaultClass) {
      const name = this.#index.defaultClass;
      return name === undefined ? noClass : `ingress-class/${name}`;
    }
    const gateway = gatewayIn(through);
    if (gateway === undefined) return through;
    const name = this.#gateways.get(gateway)?.gatewayClass;
    return name === undefined ? classOf + gateway : `gateway-class/${name}`;
  }
}

function nameOf({ namespace, name }: ObjectMeta): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

function gatewayIn(through: string): string | undefined {
  return through.startsWith(byGateway) ? through.slice(byGateway.length) : undefined;
}

/** A path for clients that know pods by name. What they keep is in it, so that the time of before counts for a moment longer. */
function namesOf({ stated, least }: KeptAddresses = {}): string {
  if (stated !== undefined) return `${byNames} ${stated}`;
  return least === undefined ? byNames : `${byNames} >=${least}`;
}

function keptIn(path: string): KeptAddresses {
  const [, least, seconds] = / (>=)?(\d+)$/.exec(path) ?? [];
  if (seconds === undefined) return {};
  return least === undefined ? { stated: Number(seconds) } : { least: Number(seconds) };
}

/** Whether somebody may send by it. */
function mayBeUsed(path: string): boolean {
  return path !== noClass && !path.startsWith(classOf);
}
