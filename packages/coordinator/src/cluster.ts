import type { Change, KubernetesClient, KubernetesObject, QuotaOptions, Source } from "@lameduck/kube";
import {
  BoundedCache,
  gatewayRoutes,
  type GrantObject,
  inVersion,
  keepPolicy,
  type Reading,
  sourcesOf,
  type SourcesOptions,
  keepGateway,
  keepIngressClass,
  keepRoutingRoute,
  keepRoutingService,
  keepNode,
  keepPod,
  keepSlice,
  sizeOfSlice,
  type Routing,
} from "@lameduck/cluster";
import { apiPath } from "@lameduck/protocol";
import type { Nodes } from "./state/nodes.ts";
import type { Terminations } from "./state/terminations.ts";
import type { PolicySettings } from "./settings.ts";
import type { UnreadList } from "./status.ts";

export interface ClusterOptions extends SourcesOptions {
  readonly nodes: Nodes;
  readonly routing: Routing;
  readonly settings: PolicySettings;
  readonly terminations: Terminations;
  readonly now: () => number;
  readonly onChange: () => void;
}

/** Seconds after which the watch of EndpointSlices is renewed: it gives a sign of life each time, also where nothing changes. */
const slicesRenewal = 5;
/** What is kept of the EndpointSlices of one namespace: bytes, for some 100,000 endpoints, or 60,000 that are reserved for a zone. */
const slicesQuota = 32 * 1024 * 1024;
/** Milliseconds without such a sign, after which nobody knows here which pods are published. */
const longestUnheard = 15_000;

/** Reads the cluster by list and watch, and passes each change on. */
export class Cluster {
  readonly #essential: readonly Source<KubernetesObject>[];
  readonly #sources: readonly Source<KubernetesObject>[];
  readonly #options: ClusterOptions;
  #slicesHeardAt: number;

  constructor(client: KubernetesClient, options: ClusterOptions) {
    this.#options = options;
    this.#slicesHeardAt = options.now();
    const { nodes, routing, settings, terminations, now, onChange } = options;
    const read = sourcesOf(client, options);
    const keeping = new BoundedCache((kind, { namespace = "" }) => {
      routing.leftOut(kind, namespace);
      onChange();
    });
    const source = <Kept extends KubernetesObject>(
      name: string,
      path: string,
      keep: (object: never) => Kept,
      take: (change: Change<Kept>) => void,
      reading: Reading<Kept> = {},
    ): Source<Kept> => {
      const changed = (change: Change<Kept>): void => {
        take(change);
        onChange();
      };
      return read(name, path, keep, changed, reading);
    };
    const quotaOf = <Kept extends KubernetesObject>(name: string): QuotaOptions<Kept> =>
      keeping.quota(name, (full) => {
        routing.listed(name, full);
        onChange();
      });
    /** What whoever may write into a namespace may make any number of. */
    const bounded = <Kept extends KubernetesObject>(
      name: string,
      path: string,
      keep: (object: never) => Kept,
      take: (change: Change<Kept>) => void,
    ): Source<Kept> => source(name, path, keep, take, { quota: quotaOf(name) });
    this.#essential = [
      source("pods", "/api/v1/pods", keepPod, (change) => terminations.pod(change, now())),
      source(
        "endpointslices",
        "/apis/discovery.k8s.io/v1/endpointslices",
        keepSlice,
        (change) => terminations.slice(change, now()),
        {
          quota: { ...quotaOf("endpointslices"), sizeOf: sizeOfSlice, most: slicesQuota },
          renewalSeconds: slicesRenewal,
          onHeard: () => (this.#slicesHeardAt = now()),
        },
      ),
      source("nodes", "/api/v1/nodes", keepNode, (change) => nodes.take(change, now())),
      bounded("services", "/api/v1/services", keepRoutingService, (change) => routing.service(change, now())),
      bounded("ingresses", "/apis/networking.k8s.io/v1/ingresses", keepRoutingRoute("Ingress"), (change) =>
        routing.route(change, now()),
      ),
      source("ingressclasses", "/apis/networking.k8s.io/v1/ingressclasses", keepIngressClass, (change) =>
        routing.ingressClass(change, now()),
      ),
      source("drainpolicies", `${apiPath}/drainpolicies`, keepPolicy, (change) => settings.take(change)),
    ];
    this.#sources = [
      ...this.#essential,
      bounded("gateways", "/apis/gateway.networking.k8s.io/v1/gateways", keepGateway, (change) =>
        routing.gateway(change, now()),
      ),
      ...gatewayRoutes.map(({ kind, name, path, version }) => {
        const keep = keepRoutingRoute(kind);
        return bounded(
          name,
          path,
          (route: Parameters<typeof keep>[0]) => inVersion(version, keep(route)),
          (change) => routing.route(change, now()),
        );
      }),
      bounded(
        "referencegrants",
        "/apis/gateway.networking.k8s.io/v1beta1/referencegrants",
        (object: GrantObject) => keeping.grant(object),
        (change) => routing.grant(change, now()),
      ),
    ];
  }

  /** @returns when everything has been read once. */
  async start(): Promise<void> {
    for (const source of this.#sources) source.start();
    await Promise.all(this.#sources.map(({ settled }) => settled));
    this.#options.terminations.synced(this.#options.now());
    this.#options.onChange();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#sources.map((source) => source.stop()));
  }

  /** The lists that have not been read once, or may not be read. No pod is released without all of them. */
  notReady(): string | undefined {
    const waiting = this.#essential.filter(({ state }) => state === "waiting" || state === "refused");
    if (waiting.length > 0) return `not read yet: ${waiting.map(({ name }) => name).join(", ")}`;
    return this.knowsEndpoints ? undefined : `endpointslices: not heard of for ${Math.round(this.unheard)} s`;
  }

  /** Lists that are refused, not answered yet, or not kept up to date, by name. */
  unread(): readonly UnreadList[] {
    const unread = this.#sources.flatMap(({ name, state }): UnreadList[] =>
      state === "waiting" || state === "refused" ? [{ name, state }] : [],
    );
    return unread.length > 0 || this.knowsEndpoints ? unread : [{ name: "endpointslices", state: "unheard" }];
  }

  /** Seconds since the API server gave a sign that the EndpointSlices are up to date. */
  get unheard(): number {
    return (this.#options.now() - this.#slicesHeardAt) / 1_000;
  }

  /** Whether a pod that is published here is published in the cluster. */
  get knowsEndpoints(): boolean {
    return this.unheard * 1_000 < longestUnheard;
  }

  /** Whether every list that the cluster has is read. A kind that it does not have names no consumer. */
  get seesAll(): boolean {
    return this.#sources.every(({ state }) => state === "synced" || state === "absent");
  }

  sizes(): ReadonlyMap<string, number> {
    return new Map(this.#sources.map(({ name, size }) => [name, size]));
  }
}
