import type { KubernetesClient, KubernetesObject, Source } from "@lameduck/kube";
import {
  followed,
  following,
  followPaths,
  followRecognised,
  slimNode,
  slimPod,
  slimPolicy,
  slimSlice,
  type Routing,
  sizeOfSlice,
  slimGateway,
  SlimPaths,
  type SourcesOptions,
} from "@lameduck/cluster";
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

/** After which the watch of EndpointSlices is renewed: it gives a sign of life each time, also where nothing changes. */
const slicesRenewalSeconds = 5;
/** What is kept of the EndpointSlices of one namespace: for some 100,000 endpoints, or 60,000 that are reserved for a zone. */
const slicesQuotaBytes = 32 * 1024 * 1024;
/** Without such a sign for longer, nobody knows here which pods are published. */
const longestUnheardMs = 15_000;

/** Reads the cluster by list and watch, and passes each change on. */
export class Cluster {
  readonly #essential: readonly Source<KubernetesObject>[];
  readonly #sources: readonly Source<KubernetesObject>[];
  readonly #options: ClusterOptions;
  readonly #slices: Source<KubernetesObject>;

  constructor(client: KubernetesClient, options: ClusterOptions) {
    this.#options = options;
    const { nodes, routing, settings, terminations, now, onChange } = options;
    const follow = following(client, { ...options, onTaken: onChange });
    const slim = new SlimPaths({
      asks: "by Services",
      onFull: (part, namespace) => {
        routing.leftOut(part, namespace);
        onChange();
      },
      onListed: (part, full) => {
        routing.listed(part, full);
        onChange();
      },
    });
    const { endpointSlices, gateways } = followed;
    const paths = followPaths(follow, slim, {
      service: (change) => routing.service(change, now()),
      route: (change) => routing.route(change, now()),
      grant: (change) => routing.grant(change, now()),
      ingressClass: (change) => routing.ingressClass(change, now()),
    });
    this.#slices = follow(endpointSlices, slimSlice, (change) => terminations.slice(change, now()), {
      quota: { ...slim.quota(endpointSlices.name), sizeOf: sizeOfSlice, most: slicesQuotaBytes },
      renewalSeconds: slicesRenewalSeconds,
    });
    this.#essential = [
      follow(followed.pods, slimPod, (change) => terminations.pod(change, now())),
      this.#slices,
      follow(followed.nodes, slimNode, (change) => nodes.take(change, now())),
      paths.services,
      ...paths.builtIn,
      follow(followed.drainPolicies, slimPolicy, (change) => settings.take(change)),
    ];
    this.#sources = [
      ...this.#essential,
      follow(gateways, slimGateway, (change) => routing.gateway(change, now()), {
        quota: slim.quota(gateways.name),
      }),
      ...paths.installed,
      ...followRecognised(follow, slim, routing, now),
    ];
  }

  /** @returns when the essential lists have been read, and the others have been tried. A broken CRD may never be read. */
  async start(): Promise<void> {
    for (const source of this.#sources) source.start();
    await Promise.all(this.#essential.map(({ settled }) => settled));
    await Promise.all(this.#sources.map(({ tried }) => tried));
    this.#options.terminations.synced(this.#options.now());
    this.#options.onChange();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#sources.map((source) => source.stop()));
  }

  /** The lists that have not been read once, or may not be read. No pod is released without all of them. */
  notReady(): string | undefined {
    const unread = this.#essential.filter(({ isKnown }) => !isKnown);
    if (unread.length > 0)
      return `not read: ${unread.map(({ name, state }) => `${name} (${state})`).join(", ")}`;
    return this.knowsEndpoints ? undefined : `endpointslices: not heard of for ${Math.round(this.unheard)} s`;
  }

  /** Lists that are refused, not answered yet, or not kept up to date, by name. */
  unread(): readonly UnreadList[] {
    const unread = this.#sources.flatMap(({ name, resource, state, problem }): UnreadList[] =>
      state === "synced" || state === "absent"
        ? []
        : [{ name, state, resource, ...(problem !== undefined && { problem }) }],
    );
    return unread.length > 0 || this.knowsEndpoints ? unread : [{ name: "endpointslices", state: "unheard" }];
  }

  /** Seconds since the API server gave a sign that the EndpointSlices are up to date. */
  get unheard(): number {
    return this.#slices.unheardMs / 1_000;
  }

  /** Whether a pod that is published here is published in the cluster. */
  get knowsEndpoints(): boolean {
    return this.unheard * 1_000 < longestUnheardMs;
  }

  /** The lists that are not read, although the cluster has them. A kind that it does not have names no consumer. */
  get unsettled(): readonly string[] {
    return this.#sources.filter(({ isKnown }) => !isKnown).map(({ name }) => name);
  }

  sizes(): ReadonlyMap<string, number> {
    // Most kinds of other API groups are not installed.
    const there = this.#sources.filter(({ state }) => state !== "absent");
    return new Map(there.map(({ name, size }) => [name, size]));
  }
}
