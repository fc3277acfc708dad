import type { Change } from "@lameduck/kube";
import type { SlimPod } from "@lameduck/cluster";

/**
 * Proxies of which some pods have a watcher, and others have none. So it is while the patch with the watcher is rolled out, or where it reached
 * some pods only. What the pods with a watcher report says nothing of the others.
 */
export class HalfReadProxies {
  /** By workload and uid: whether a watcher stands in the pod. */
  readonly #pods = new Map<string, Map<string, boolean>>();
  /** Workloads with pods of both sorts: every round of decisions asks, and pods change seldom. */
  readonly #halfRead = new Set<string>();
  readonly #reportedBy: (podUid: string) => readonly string[];

  constructor(reportedBy: (podUid: string) => readonly string[]) {
    this.#reportedBy = reportedBy;
  }

  take({ type, object }: Change<SlimPod>): void {
    const { isRead, workload, metadata, addresses, isFinished } = object;
    if (isRead === undefined || workload === undefined) return;
    const key = `${metadata.namespace}/${workload.kind}/${workload.name}`;
    const pods = this.#pods.get(key) ?? new Map<string, boolean>();
    // Without an address it has not begun to send.
    if (type === "there" && !isFinished && addresses.length > 0) pods.set(metadata.uid, isRead);
    else pods.delete(metadata.uid);
    if (pods.size > 0) this.#pods.set(key, pods);
    else this.#pods.delete(key);
    if (new Set(pods.values()).size > 1) this.#halfRead.add(key);
    else this.#halfRead.delete(key);
  }

  /** The consumers that report for some pods of their proxy only. */
  get consumers(): ReadonlySet<string> {
    const pods = [...this.#halfRead].flatMap((key) => [...(this.#pods.get(key) ?? [])]);
    return new Set(pods.flatMap(([uid, isRead]) => (isRead ? this.#reportedBy(uid) : [])));
  }
}
