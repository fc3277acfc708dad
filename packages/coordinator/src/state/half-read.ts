import type { Change } from "@lameduck/kube";
import type { SlimPod } from "@lameduck/cluster";
import { mayServeOneClass } from "@lameduck/senders";

/**
 * Proxies for which watchers report in some of their pods only. One cause is a rollout of the patch with the watcher that is under way or has stopped
 * in the middle. Another cause is two workloads of one class, of which one has the patch. A third cause is a watcher that has not reported yet, or
 * never does. A pod's watcher says nothing of other pods.
 */
export class HalfReadProxies {
  /** By uid. */
  readonly #pods = new Map<string, SlimPod>();
  /** Workloads that have, or had, a pod with a watcher: all their pods are kept. With the last of these the workload is forgotten. */
  readonly #workloads = new Set<string>();
  readonly #reportedBy: (podUid: string) => readonly string[];
  readonly #allPods: () => Iterable<SlimPod>;

  constructor(reportedBy: (podUid: string) => readonly string[], allPods: () => Iterable<SlimPod>) {
    this.#reportedBy = reportedBy;
    this.#allPods = allPods;
  }

  take({ type, object }: Change<SlimPod>): void {
    const { uid } = object.metadata;
    if (type === "there" && this.#matters(object)) {
      this.#pods.set(uid, object);
      const workload = workloadOf(object);
      if (object.proxy?.isRead !== true || workload === undefined || this.#workloads.has(workload)) return;
      this.#workloads.add(workload);
      for (const one of this.#allPods())
        if (one.metadata.uid !== uid && this.#matters(one)) this.#pods.set(one.metadata.uid, one);
    } else if (this.#pods.delete(uid)) {
      const workload = workloadOf(object) ?? "";
      if (![...this.#pods.values()].some((one) => workloadOf(one) === workload))
        this.#workloads.delete(workload);
    }
  }

  /** The consumers that report for some pods of their proxy only, each with what lacks: "Pod edge/nginx-x2x7k may send for it and has no watcher". */
  get consumers(): ReadonlyMap<string, string> {
    const consumers = new Map<string, string>();
    const silent = [...this.#pods.values()].filter((pod) => this.#reportedBy(pod.metadata.uid).length === 0);
    if (silent.length === 0) return consumers;
    for (const pod of this.#pods.values()) {
      const keys = this.#reportedBy(pod.metadata.uid);
      const lacking = keys.length > 0 ? silent.find((one) => sendsAs(pod, one)) : undefined;
      if (lacking) for (const key of keys) consumers.set(key, whatLacks(lacking));
    }
    return consumers;
  }

  /** One without an address has not begun to send. */
  #matters(pod: SlimPod): boolean {
    if (pod.isFinished || pod.addresses.length === 0) return false;
    return pod.proxy !== undefined || this.#workloads.has(workloadOf(pod) ?? "");
  }
}

function whatLacks({ metadata, proxy }: SlimPod): string {
  const lack = proxy?.isRead === true ? "its watcher has not reported" : "has no watcher";
  return `Pod ${metadata.namespace}/${metadata.name} may send for it and ${lack}`;
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
