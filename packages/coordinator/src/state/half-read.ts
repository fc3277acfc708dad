import type { Change } from "@lameduck/kube";
import type { SlimPod } from "@lameduck/cluster";
import { mayServeOneClass } from "@lameduck/senders";

/**
 * Proxies of which some pods are not reported for. A watcher says nothing of another pod. There are three causes:
 * - a rollout that adds the watcher goes on, or has stopped in the middle
 * - two workloads serve one class, and one of them has the watcher
 * - a watcher has not reported yet, or never does
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

  /** By consumer: what its proxy lacks, as "Pod edge/nginx-x2x7k may send for it and has no watcher". */
  get consumers(): ReadonlyMap<string, string> {
    const consumers = new Map<string, string>();
    const all = [...this.#pods.values()];
    const unreported = all.filter(({ metadata }) => this.#reportedBy(metadata.uid).length === 0);
    if (unreported.length === 0) return consumers;
    // Every question of a pod waits for this, and each node has a pod with a watcher: these are not compared one by one.
    const byWorkload = new Map(unreported.map((one) => [workloadOf(one), one]));
    byWorkload.delete(undefined);
    const proxies = unreported.filter(({ proxy }) => proxy?.who !== undefined);
    for (const pod of all) {
      const keys = this.#reportedBy(pod.metadata.uid);
      if (keys.length === 0) continue;
      const lacking = byWorkload.get(workloadOf(pod)) ?? proxies.find((one) => sendsAs(pod, one));
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

/** Whether what one of them serves, the other may serve, too, as their programs tell. */
function sendsAs({ proxy: one }: SlimPod, { proxy: other }: SlimPod): boolean {
  return one !== undefined && other !== undefined && mayServeOneClass(one, other);
}

function workloadOf({ workload, metadata }: SlimPod): string | undefined {
  return workload && `${metadata.namespace}/${workload.kind}/${workload.name}`;
}
