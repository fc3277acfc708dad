import type { Change } from "@lameduck/kube";
import type { SlimPod } from "@lameduck/cluster";
import { mayServeOneClass } from "@lameduck/senders";

/**
 * Proxies that have a watcher in some of their pods only. One cause is a rollout of the patch with the watcher that is under way or has stopped in
 * the middle. Another cause is two workloads of one class, of which one has the patch. A pod's watcher says nothing of pods without a watcher.
 */
export class HalfReadProxies {
  /** By uid. */
  readonly #pods = new Map<string, SlimPod>();
  /** Workloads that have, or had, a pod with a watcher: all their pods are kept. With the last of these the workload is forgotten. */
  readonly #workloads = new Set<string>();
  readonly #reportedBy: (podUid: string) => readonly string[];
  readonly #allPods: () => Iterable<SlimPod>;
  /** By the uid of one with a watcher: one without. Every round of decisions asks, and pods change seldom. */
  #halfRead: ReadonlyMap<string, SlimPod> | undefined;

  constructor(reportedBy: (podUid: string) => readonly string[], allPods: () => Iterable<SlimPod>) {
    this.#reportedBy = reportedBy;
    this.#allPods = allPods;
  }

  take({ type, object }: Change<SlimPod>): void {
    const { uid } = object.metadata;
    if (type === "there" && this.#matters(object)) {
      this.#put(object);
      const workload = workloadOf(object);
      if (object.proxy?.isRead !== true || workload === undefined || this.#workloads.has(workload)) return;
      this.#workloads.add(workload);
      for (const one of this.#allPods()) if (one.metadata.uid !== uid && this.#matters(one)) this.#put(one);
    } else if (this.#pods.delete(uid)) {
      this.#halfRead = undefined;
      const workload = workloadOf(object) ?? "";
      if (![...this.#pods.values()].some((one) => workloadOf(one) === workload))
        this.#workloads.delete(workload);
    }
  }

  /** The consumers that report for some pods of their proxy only, each with a pod for which nothing reports: "edge/nginx-x2x7k". */
  get consumers(): ReadonlyMap<string, string> {
    this.#halfRead ??= this.#find();
    const consumers = new Map<string, string>();
    for (const [uid, { metadata }] of this.#halfRead)
      for (const key of this.#reportedBy(uid)) consumers.set(key, `${metadata.namespace}/${metadata.name}`);
    return consumers;
  }

  /** One without an address has not begun to send. */
  #matters(pod: SlimPod): boolean {
    if (pod.isFinished || pod.addresses.length === 0) return false;
    return pod.proxy !== undefined || this.#workloads.has(workloadOf(pod) ?? "");
  }

  #put(pod: SlimPod): void {
    this.#pods.set(pod.metadata.uid, pod);
    this.#halfRead = undefined;
  }

  #find(): ReadonlyMap<string, SlimPod> {
    const isRead = ({ proxy }: SlimPod): boolean => proxy?.isRead === true;
    const unread = [...this.#pods.values()].filter((one) => !isRead(one));
    return new Map(
      [...this.#pods].flatMap(([uid, pod]) => {
        const lacking = isRead(pod) ? unread.find((one) => sendsAs(pod, one)) : undefined;
        return lacking === undefined ? [] : [[uid, lacking] as const];
      }),
    );
  }
}

/** Whether what one of them serves, the other may serve, too. */
function sendsAs(one: SlimPod, other: SlimPod): boolean {
  const workload = workloadOf(one);
  if (workload !== undefined && workload === workloadOf(other)) return true;
  return one.proxy !== undefined && other.proxy !== undefined && mayServeOneClass(one.proxy, other.proxy);
}

function workloadOf({ workload, metadata }: SlimPod): string | undefined {
  return workload && `${metadata.namespace}/${workload.kind}/${workload.name}`;
}
