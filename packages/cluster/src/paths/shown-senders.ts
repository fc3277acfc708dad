import type { Change, KubernetesObject, ObjectMeta } from "@lameduck/kube";
import type { PodSender } from "@lameduck/senders";

/** A pod or a namespace, with the senders that it shows. */
export interface Showing extends KubernetesObject {
  readonly senders?: readonly PodSender[] | undefined;
  readonly node?: string | undefined;
}

type Shown = Map<string, Map<string, ObjectMeta>>;

/** Senders that pods and namespaces show: a mesh by its sidecars, a proxy of Services by its pod on a node. */
export class ShownSenders {
  /** By Services, need and uid; a thousand sidecars show the same. */
  readonly #leading = new Map<string, Shown>();
  /** By need and node. */
  readonly #onNodes = new Map<string, Shown>();
  /** The same of those that lead to Services besides. */
  readonly #besides = new Map<string, Shown>();
  readonly #known = new Map<string, Showing>();

  /** @returns the Services, as `everyService`, for which a sender is new, or of which one is gone; and whether a node has one more or less. */
  changedBy({ type, object }: Change<Showing>): {
    readonly services: readonly string[];
    readonly isOfNodes: boolean;
  } {
    const { uid } = object.metadata;
    const before = this.#known.get(uid);
    const after = type === "there" ? object : undefined;
    if (sameSenders(before, after)) return { services: [], isOfNodes: false };
    const services = new Set<string>();
    let isOfNodes = false;
    for (const [at, other] of [
      [before, after],
      [after, before],
    ] as const)
      for (const { need, services: all, isOfNode = false } of at?.senders ?? []) {
        isOfNodes ||= all === undefined || isOfNode;
        for (const one of all ?? []) {
          const isShared = (this.#leading.get(one)?.get(need)?.size ?? 0) > (at === before ? 1 : 0);
          if (!isShared && !leads(other, need, one)) services.add(one);
        }
      }
    return { services: [...services], isOfNodes };
  }

  take({ type, object }: Change<Showing>): void {
    const { metadata } = object;
    for (const place of this.#placesOf(this.#known.get(metadata.uid))) remove(...place, metadata.uid);
    this.#known.delete(metadata.uid);
    if (type === "gone" || object.senders === undefined) return;
    this.#known.set(metadata.uid, object);
    for (const place of this.#placesOf(object)) add(...place, metadata);
  }

  /** Where its senders are kept. */
  *#placesOf({ senders = [], node = "" }: Partial<Showing> = {}): Generator<
    [all: Map<string, Shown>, group: string, key: string]
  > {
    for (const { need, services, isOfNode } of senders) {
      if (isOfNode) yield [this.#besides, need, node];
      if (services === undefined) yield [this.#onNodes, need, node];
      for (const one of services ?? []) yield [this.#leading, one, need];
    }
  }

  /** Needs of those that lead to exactly these Services, each with the first that shows it. */
  *at(services: string): Generator<readonly [need: string, shownBy: ObjectMeta]> {
    for (const [need, all] of this.#leading.get(services) ?? []) {
      const [first] = all.values();
      if (first) yield [need, first];
    }
  }

  /** Needs of those that lead to Services from the nodes on which they run, and these nodes. */
  *besides(): Generator<readonly [need: string, nodes: Iterable<string>]> {
    for (const [need, nodes] of this.#besides) yield [need, nodes.keys()];
  }

  /** Proxies of Services in kube-proxy's place: their needs, and the nodes on which they run, each with its pod. */
  *onNodes(): Generator<readonly [need: string, nodes: ReadonlyMap<string, ObjectMeta>]> {
    for (const [need, nodes] of this.#onNodes)
      yield [
        need,
        new Map([...nodes].flatMap(([node, all]) => [...all.values()].slice(0, 1).map((one) => [node, one]))),
      ];
  }
}

function sameSenders(a: Showing | undefined, b: Showing | undefined): boolean {
  if (a?.senders === undefined && b?.senders === undefined) return true;
  return a?.node === b?.node && JSON.stringify(a?.senders) === JSON.stringify(b?.senders);
}

function leads(at: Showing | undefined, need: string, service: string): boolean {
  return at?.senders?.some((one) => one.need === need && one.services?.includes(service)) === true;
}

function add(all: Map<string, Shown>, group: string, key: string, metadata: ObjectMeta): void {
  const keys = all.get(group) ?? new Map();
  all.set(group, keys);
  keys.set(key, (keys.get(key) ?? new Map()).set(metadata.uid, metadata));
}

function remove(all: Map<string, Shown>, group: string, key: string, uid: string): void {
  const keys = all.get(group);
  keys?.get(key)?.delete(uid);
  if (keys?.get(key)?.size === 0) keys.delete(key);
  if (keys?.size === 0) all.delete(group);
}
