import type { Change, KubernetesClient, KubernetesObject, Source } from "@lameduck/kube";
import { gatewayRoutes, inVersion, keepPolicy } from "../exposure/objects.ts";
import { sourcesOf, type SourcesOptions } from "../exposure/sources.ts";
import { keepGateway, keepIngressClass, keepLeadingRoute, keepLeadingService } from "./state/leading.ts";
import type { Nodes } from "./state/nodes.ts";
import { keepNode, keepPod, keepSlice } from "./state/objects.ts";
import type { Routing } from "./state/routing.ts";
import type { Terminations } from "./state/terminations.ts";
import type { PolicySettings } from "./settings.ts";

export interface ClusterOptions extends SourcesOptions {
  readonly nodes: Nodes;
  readonly routing: Routing;
  readonly settings: PolicySettings;
  readonly terminations: Terminations;
  readonly now: () => number;
  readonly onChange: () => void;
}

/** Reads the cluster by list and watch, and passes each change on. */
export class Cluster {
  readonly #essential: readonly Source<KubernetesObject>[];
  readonly #sources: readonly Source<KubernetesObject>[];
  readonly #options: ClusterOptions;

  constructor(client: KubernetesClient, options: ClusterOptions) {
    this.#options = options;
    const { nodes, routing, settings, terminations, now, onChange } = options;
    const read = sourcesOf(client, options);
    const source = <Kept extends KubernetesObject>(
      name: string,
      path: string,
      keep: (object: never) => Kept,
      take: (change: Change<Kept>) => void,
    ): Source<Kept> =>
      read(name, path, keep, (change) => {
        take(change);
        onChange();
      });
    this.#essential = [
      source("pods", "/api/v1/pods", keepPod, (change) => terminations.pod(change, now())),
      source("endpointslices", "/apis/discovery.k8s.io/v1/endpointslices", keepSlice, (change) =>
        terminations.slice(change, now()),
      ),
      source("nodes", "/api/v1/nodes", keepNode, (change) => nodes.take(change, now())),
      source("services", "/api/v1/services", keepLeadingService, (change) => routing.service(change)),
      source("ingresses", "/apis/networking.k8s.io/v1/ingresses", keepLeadingRoute("Ingress"), (change) =>
        routing.route(change),
      ),
      source("ingressclasses", "/apis/networking.k8s.io/v1/ingressclasses", keepIngressClass, (change) =>
        routing.ingressClass(change),
      ),
      source("drainpolicies", "/apis/lameduck.dev/v1alpha1/drainpolicies", keepPolicy, (change) =>
        settings.take(change),
      ),
    ];
    this.#sources = [
      ...this.#essential,
      source("gateways", "/apis/gateway.networking.k8s.io/v1/gateways", keepGateway, (change) =>
        routing.gateway(change),
      ),
      ...gatewayRoutes.map(({ kind, name, path, version }) => {
        const keep = keepLeadingRoute(kind);
        return source(
          name,
          path,
          (route: Parameters<typeof keep>[0]) => inVersion(version, keep(route)),
          (change) => routing.route(change),
        );
      }),
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
    return waiting.length === 0 ? undefined : `not read yet: ${waiting.map(({ name }) => name).join(", ")}`;
  }

  /** Lists that are refused, or not answered yet, by name. */
  unread(): readonly { readonly name: string; readonly state: "waiting" | "refused" }[] {
    return this.#sources.flatMap(({ name, state }) =>
      state === "waiting" || state === "refused" ? [{ name, state }] : [],
    );
  }

  /** Whether every list that the cluster has is read. A kind that it does not have names no consumer. */
  get seesAll(): boolean {
    return this.#sources.every(({ state }) => state === "synced" || state === "absent");
  }

  sizes(): ReadonlyMap<string, number> {
    return new Map(this.#sources.map(({ name, size }) => [name, size]));
  }
}
