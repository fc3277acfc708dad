import type { Change, KubernetesClient, KubernetesObject, Source } from "@lameduck/kube";
import { injectLabelValue, type Architecture, architectures, policyName } from "@lameduck/inject";
import { injectLabel } from "@lameduck/protocol";
import {
  type TrafficPaths,
  followed,
  following,
  followKinds,
  followPaths,
  convergenceOfNeeds,
  exposingKinds,
  placesOf,
  shownByNamespace,
  type Showing,
  ShownSenders,
  slowerOf,
  slimToLabel,
  slimPolicy,
  type OnLeftOut,
  PathIndex,
  type PolicyObject,
  type SelectingService,
  SlimPaths,
  type SlimService,
  type SourcesOptions,
} from "@lameduck/cluster";

interface ClusterViewOptions extends SourcesOptions {
  /** The namespaces with our label, DrainPolicies, or the processors of the nodes have changed. */
  readonly onChange?: () => void;
  /** Of an object, or of a part of it, nothing is known. */
  readonly onLeftOut?: OnLeftOut;
}

const architectureLabel = "kubernetes.io/arch";

/** What the operator knows of the cluster, by list and watch: little of each object, and nothing of pods. */
export class ClusterView {
  readonly #paths = new PathIndex();
  readonly #shown = new ShownSenders();
  readonly #namespaces = new Map<string, Readonly<Record<string, string>>>();
  readonly #policies = new Map<string, PolicyObject>();
  readonly #nodes = new Map<string, string>();
  readonly #services: Source<SlimService>;
  readonly #labelled: Source<KubernetesObject>;
  readonly #essential: readonly Source<KubernetesObject>[];
  readonly #sources: readonly Source<KubernetesObject>[];
  /** Undefined where nodes have changed since. */
  #architectures: { readonly known: readonly Architecture[] | undefined } | undefined;

  constructor(client: KubernetesClient, options: ClusterViewOptions) {
    const { onChange, onLeftOut } = options;
    const follow = following(client, options);
    const slim = new SlimPaths({ asks: "by labels", ...(onLeftOut && { onLeftOut }) });
    const { services, builtIn, installed } = followPaths(follow, slim, this.#paths);
    const recognised = followKinds(follow, slim, exposingKinds, (change) => this.#paths.route(change));
    const slimToInjection = slimToLabel(injectLabel);
    this.#services = services;
    const slimNamespace = (namespace: KubernetesObject): Showing => ({
      ...shownByNamespace(namespace),
      ...slimToInjection(namespace),
    });
    this.#labelled = follow(followed.namespaces, slimNamespace, (change) => {
      this.#namespace(change);
      this.#shown.take(change);
      onChange?.();
    });
    const policies = follow(followed.drainPolicies, slimPolicy, (change) => {
      this.#policy(change);
      onChange?.();
    });
    const nodes = follow(followed.nodes, slimToLabel(architectureLabel), (change) => {
      if (this.#node(change)) onChange?.();
    });
    this.#essential = [this.#services, this.#labelled, policies, nodes];
    this.#sources = [...this.#essential, ...builtIn, ...installed, ...recognised];
  }

  start(): void {
    for (const source of this.#sources) source.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#sources.map((source) => source.stop()));
  }

  /** What has not been read once; undefined when everything that matters has. Who may not read it will not wait for it. */
  notReady(): string | undefined {
    const waiting = this.#essential.filter(({ state }) => state === "waiting").map(({ name }) => name);
    return waiting.length === 0 ? undefined : `not read yet: ${waiting.join(", ")}`;
  }

  /** Every kind has been read, or is not to be had. */
  get isRead(): boolean {
    return this.#sources.every(({ state }) => state !== "waiting");
  }

  /** Objects that are known, by kind. */
  sizes(): ReadonlyMap<string, number> {
    return new Map(this.#sources.map(({ name, size }) => [name, size]));
  }

  /** Undefined where nobody could look. */
  pathsTo(namespace: string, labels: Readonly<Record<string, unknown>>): TrafficPaths | undefined {
    if (this.#services.state !== "synced") return undefined;
    const paths = this.#paths.pathsTo(namespace, labels);
    // Who sends to every Service sends to no pod that has none.
    if (paths.exposedBy.length === 0) return paths;
    const shown = placesOf(`${namespace}/`).flatMap((place) => [...this.#shown.at(place)]);
    const ofShown = convergenceOfNeeds(shown.map(([need]) => need));
    return { ...paths, convergence: slowerOf(paths.convergence, ofShown) };
  }

  /** The Services that select such a pod; undefined where nobody could look. */
  selecting(
    namespace: string,
    labels: Readonly<Record<string, string>>,
  ): readonly SelectingService[] | undefined {
    return this.#services.state === "synced" ? this.#paths.selecting(namespace, labels) : undefined;
  }

  labelsOf(namespace: string): Readonly<Record<string, string>> | undefined {
    return this.#namespaces.get(namespace);
  }

  /** Namespaces whose pods are injected; undefined where nobody could look. */
  enabled(): ReadonlySet<string> | undefined {
    if (this.#labelled.state !== "synced") return undefined;
    const enabled = [...this.#namespaces].filter(([, labels]) => labels[injectLabel] === injectLabelValue);
    return new Set(enabled.map(([name]) => name));
  }

  /** The one policy of a namespace that counts. */
  policyOf(namespace: string): PolicyObject | undefined {
    return this.#policies.get(`${namespace}/${policyName}`);
  }

  policies(): readonly PolicyObject[] {
    return [...this.#policies.values()];
  }

  get architectures(): readonly Architecture[] | undefined {
    this.#architectures ??= { known: architecturesOf(this.#nodes.values()) };
    return this.#architectures.known;
  }

  #namespace({ type, object }: Change<KubernetesObject>): void {
    const { name, labels = {} } = object.metadata;
    if (type === "gone") this.#namespaces.delete(name);
    else
      this.#namespaces.set(name, injectLabel in labels ? { [injectLabel]: labels[injectLabel] ?? "" } : {});
  }

  #policy({ type, object }: Change<PolicyObject>): void {
    const key = `${object.metadata.namespace}/${object.metadata.name}`;
    if (type === "gone") this.#policies.delete(key);
    else this.#policies.set(key, object);
  }

  /** @returns whether it may change which processors there are. */
  #node({ type, object }: Change<KubernetesObject>): boolean {
    const architecture = object.metadata.labels?.[architectureLabel];
    const before = this.#nodes.get(object.metadata.uid);
    if (type === "gone" || architecture === undefined) this.#nodes.delete(object.metadata.uid);
    else this.#nodes.set(object.metadata.uid, architecture);
    const isNews = before !== this.#nodes.get(object.metadata.uid);
    if (isNews) this.#architectures = undefined;
    return isNews;
  }
}

/**
 * Processors of the nodes, as injection has to know them.
 * @param labels kubernetes.io/arch of each node.
 * @returns two where a pod may land on a node that there is no binary for; none where nothing is known.
 */
export function architecturesOf(labels: Iterable<string>): readonly Architecture[] | undefined {
  const found = new Set(labels);
  if (found.size === 0) return undefined;
  const known = architectures.filter((one) => found.has(one));
  return known.length < found.size && known.length > 0 ? architectures : known;
}
