import type { PodEvent, RunClock } from "@lameduck/accounting";
import type { Cluster, KubernetesObject } from "../../cluster/index.ts";
import { RuntimeEvents, type RuntimeExit } from "../../conformance/runtime-events.ts";

interface PodObject extends KubernetesObject {
  readonly spec: { readonly nodeName?: string };
  readonly status?: {
    readonly phase?: string;
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly { readonly name: string; readonly containerID?: string }[];
  };
}

interface Known {
  readonly name: string;
  ready: boolean;
  deleted: boolean;
  gone: boolean;
}

/** Follows the pods of one app by watch, and the ends of their containers by what every node's containerd tells. */
export class PodObserver implements AsyncDisposable {
  readonly events: PodEvent[] = [];
  readonly addresses = new Map<string, string>();
  readonly nodes = new Map<string, string>();
  /** Watches that had to be opened again: the API server was away, or cut them. */
  reconnects = 0;
  readonly #clock: RunClock;
  readonly #cluster: Cluster;
  readonly #app: string;
  readonly #pods = new Map<string, Known>();
  readonly #containers = new Map<string, string>();
  /** Deleted, or failed for good. */
  readonly #ended = new Set<string>();
  readonly #runtimes: RuntimeEvents[];
  readonly #stop = new AbortController();
  readonly #watching: Promise<void>;
  why = "delete";

  constructor(cluster: Cluster, app: string, clock: RunClock) {
    this.#cluster = cluster;
    this.#app = app;
    this.#clock = clock;
    this.#runtimes = cluster.nodeNames.map((node) => new RuntimeEvents(cluster, node));
    this.#watching = this.#watch();
  }

  /** Pods that are ready and stay. */
  get available(): number {
    return [...this.#pods.values()].filter(({ ready, deleted }) => ready && !deleted).length;
  }

  get terminating(): number {
    return [...this.#pods.values()].filter(({ deleted, gone }) => deleted && !gone).length;
  }

  podAt(address: string): string | undefined {
    return this.addresses.get(address);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#watching;
    for (const runtime of this.#runtimes) runtime[Symbol.dispose]();
  }

  /** Everything seen so far, the ends of containers included. */
  get timeline(): readonly PodEvent[] {
    const exits = this.#runtimes.flatMap(({ exits }) => exits).flatMap((exit) => this.#exited(exit));
    return [...this.events, ...exits].sort((a, b) => a.at - b.at);
  }

  #exited({ id, container, at, code }: RuntimeExit): PodEvent[] {
    const pod = this.#containers.get(container);
    if (pod === undefined || id !== container) return [];
    const time = this.#clock.fromEpoch(at);
    const killed = code === 137;
    return [
      { at: time, pod, type: "exited", container: "server", ...(killed ? { signal: "SIGKILL" } : { code }) },
      ...(killed ? [{ at: time, pod, type: "killed", container: "server" } as const] : []),
      // A container that is only restarted leaves its pod, and the pod's endpoint, where they were.
      ...(this.#ended.has(pod) ? [{ at: time, pod, type: "gone" } as const] : []),
    ];
  }

  async #watch(): Promise<void> {
    const { signal } = this.#stop;
    const path = `/api/v1/namespaces/default/pods?labelSelector=app%3D${this.#app}`;
    while (!signal.aborted) {
      try {
        const { items, resourceVersion } = await this.#cluster.api.listing<PodObject>(path);
        this.#listed(items);
        const from = `${path}&resourceVersion=${resourceVersion}`;
        for await (const { type, object, receivedAt } of this.#cluster.api.watch<PodObject>(from, signal))
          if (type !== "ERROR" && type !== "BOOKMARK")
            this.#note(type, object, this.#clock.fromEpoch(receivedAt));
      } catch {
        // The API server is away: a fault that scenarios make on purpose.
      }
      if (signal.aborted) return;
      this.reconnects++;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** What has gone while nobody watched is known by its absence. */
  #listed(items: readonly PodObject[]): void {
    const at = this.#clock.now();
    for (const item of items) this.#note("ADDED", item, at);
    const there = new Set(items.map(({ metadata }) => metadata.uid));
    for (const [uid, pod] of this.#pods) {
      if (there.has(uid) || pod.gone) continue;
      if (!pod.deleted) this.events.push({ at, pod: pod.name, type: "deleted", grace: 0, why: this.why });
      pod.deleted = true;
      pod.gone = true;
      this.#ended.add(pod.name);
    }
  }

  #note(type: string, { metadata, status, spec }: PodObject, at: number): void {
    const { name } = metadata;
    const uid = metadata.uid ?? name;
    let pod = this.#pods.get(uid);
    if (pod === undefined) {
      pod = { name, ready: false, deleted: false, gone: false };
      this.#pods.set(uid, pod);
      this.events.push({ at, pod: name, type: "created" });
    }
    for (const { containerID } of status?.containerStatuses ?? [])
      if (containerID !== undefined) this.#containers.set(containerID.replace("containerd://", ""), name);
    if (status?.podIP !== undefined) this.addresses.set(status.podIP, name);
    if (spec.nodeName !== undefined) this.nodes.set(name, spec.nodeName);
    const deleting = metadata.deletionTimestamp !== undefined || type === "DELETED";
    if (deleting && !pod.deleted) {
      const grace = 1_000 * (metadata.deletionGracePeriodSeconds ?? 0);
      // A watch may be late where load and cluster share their processors; the stamp is the deletion's second and the grace period.
      const stamp = metadata.deletionTimestamp;
      const latest = stamp === undefined ? at : this.#clock.fromEpoch(Date.parse(stamp)) - grace + 1_000;
      this.events.push({ at: Math.min(at, latest), pod: name, type: "deleted", grace, why: this.why });
      pod.deleted = true;
    }
    if (deleting || status?.phase === "Failed") this.#ended.add(name);
    const ready = status?.conditions?.some((one) => one.type === "Ready" && one.status === "True") ?? false;
    if (ready !== pod.ready && !(pod.deleted && !ready))
      this.events.push({ at, pod: name, type: ready ? "ready" : "unready" });
    pod.ready = ready;
    if (type === "DELETED") pod.gone = true;
  }
}
