import type { PodEvent, RunClock } from "@lameduck/accounting";
import { isReady, type Follower, type Pod } from "@lameduck/kube";
import { follow, type Cluster } from "../../cluster/index.ts";
import { RuntimeEvents, type RuntimeExit } from "../../conformance/runtime-events.ts";

interface Known {
  ready: boolean;
  deleted: boolean;
  gone: boolean;
}

/** Follows the pods of one app by watch, and the ends of their containers by what every node's containerd tells. */
export class PodObserver implements AsyncDisposable {
  readonly events: PodEvent[] = [];
  readonly addresses = new Map<string, string>();
  readonly nodes = new Map<string, string>();
  readonly #clock: RunClock;
  readonly #pods = new Map<string, Known>();
  readonly #containers = new Map<string, string>();
  /** Deleted, or failed for good. */
  readonly #ended = new Set<string>();
  readonly #runtimes: RuntimeEvents[];
  #following: Follower<Pod> | undefined;
  why = "delete";

  private constructor(cluster: Cluster, clock: RunClock) {
    this.#clock = clock;
    this.#runtimes = cluster.nodeNames.map((node) => new RuntimeEvents(cluster, node));
  }

  static async start(cluster: Cluster, app: string, clock: RunClock): Promise<PodObserver> {
    const pods = new PodObserver(cluster, clock);
    pods.#following = await follow<Pod>(
      cluster.api,
      "/api/v1/namespaces/default/pods",
      { labelSelector: `app=${app}` },
      ({ type, object, at }) => pods.#note(type === "gone", object, clock.fromEpoch(at)),
    );
    return pods;
  }

  /** Watches that had to be opened again: the API server was away, or cut them. */
  get reconnects(): number {
    const { interrupted = 0, expired = 0 } = this.#following?.counts ?? {};
    return interrupted + expired;
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
    await this.#following?.stop();
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

  #note(gone: boolean, { metadata, status, spec }: Pod, at: number): void {
    const { name, uid } = metadata;
    let pod = this.#pods.get(uid);
    if (pod === undefined) {
      pod = { ready: false, deleted: false, gone: false };
      this.#pods.set(uid, pod);
      this.events.push({ at, pod: name, type: "created" });
    }
    for (const { containerID } of status?.containerStatuses ?? [])
      if (containerID !== undefined) this.#containers.set(containerID.replace("containerd://", ""), name);
    if (status?.podIP !== undefined) this.addresses.set(status.podIP, name);
    if (spec.nodeName !== undefined) this.nodes.set(name, spec.nodeName);
    const deleting = metadata.deletionTimestamp !== undefined || gone;
    if (deleting && !pod.deleted) {
      const grace = 1_000 * (metadata.deletionGracePeriodSeconds ?? 0);
      // A watch may be late where load and cluster share their processors; the stamp is the deletion's second and the grace period.
      const stamp = metadata.deletionTimestamp;
      const latest = stamp === undefined ? at : this.#clock.fromEpoch(Date.parse(stamp)) - grace + 1_000;
      this.events.push({ at: Math.min(at, latest), pod: name, type: "deleted", grace, why: this.why });
      pod.deleted = true;
    }
    if (deleting || status?.phase === "Failed") this.#ended.add(name);
    const ready = isReady({ status });
    if (ready !== pod.ready && !(pod.deleted && !ready))
      this.events.push({ at, pod: name, type: ready ? "ready" : "unready" });
    pod.ready = ready;
    if (gone) pod.gone = true;
  }
}
