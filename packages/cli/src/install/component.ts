import { count } from "@lameduck/accounting/words";
import {
  isReady,
  type Condition,
  type Event,
  type KubernetesClient,
  type Pod,
  type Workload,
} from "@lameduck/kube";
import { ifReadable } from "../cluster/facts.ts";

/** One of Lameduck's own workloads, and why it is not as it should be. */
export interface ComponentStatus {
  readonly version: string;
  readonly wanted: number;
  readonly ready: number;
  /** Pods of a revision before that are ready, where a new one is being rolled out: "2 of IMAGE". */
  readonly former: readonly string[];
  /** What its pods and its controller say, each once. */
  readonly trouble: readonly string[];
}

type ComponentName = "webhook" | "coordinator" | "watcher";

const longest = 300;

/** @returns undefined where there is no such workload, or it may not be read. */
export async function readComponent(
  client: KubernetesClient,
  at: {
    readonly resource: "deployments" | "daemonsets";
    readonly namespace: string;
    readonly name: string;
    readonly component: ComponentName;
  },
  signal: AbortSignal,
): Promise<ComponentStatus | undefined> {
  const { resource, namespace, name, component } = at;
  const path = `/apis/apps/v1/namespaces/${namespace}/${resource}/${name}`;
  const workload = await ifReadable(client.get<Workload>(path, signal));
  if (workload === undefined) return undefined;
  const found = componentOf(workload, await podsOf(client, namespace, component, signal));
  // A Deployment says in a condition why its pods cannot be made, a DaemonSet only in Events. These outlive what they tell of.
  if (resource === "deployments" || found.ready >= found.wanted || found.trouble.length > 0) return found;
  return { ...found, trouble: await refusalsOf(client, namespace, name, signal) };
}

async function refusalsOf(
  client: KubernetesClient,
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<string[]> {
  const which = encodeURIComponent(`reason=FailedCreate,involvedObject.name=${name}`);
  const path = `/api/v1/namespaces/${namespace}/events?fieldSelector=${which}`;
  const events = (await ifReadable(client.list<Event>(path, signal))) ?? [];
  const last = events.toSorted((a, b) => (a.lastTimestamp ?? "").localeCompare(b.lastTimestamp ?? "")).at(-1);
  return last?.message === undefined ? [] : [`FailedCreate ${last.message}`.slice(0, longest)];
}

/** Pods of ours that are to stay. */
export async function podsOf(
  client: KubernetesClient,
  namespace: string,
  component: ComponentName,
  signal?: AbortSignal,
): Promise<readonly Pod[]> {
  const selector = encodeURIComponent(
    `app.kubernetes.io/name=lameduck,app.kubernetes.io/component=${component}`,
  );
  const path = `/api/v1/namespaces/${namespace}/pods?labelSelector=${selector}`;
  const pods = (await ifReadable(client.list<Pod>(path, signal))) ?? [];
  return pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

export function componentOf({ metadata, spec, status }: Workload, pods: readonly Pod[]): ComponentStatus {
  const image = imageOf(spec.template);
  const former = pods.filter((pod) => isReady(pod) && imageOf(pod) !== image);
  const counts = Map.groupBy(former, (pod) => imageOf(pod) ?? "");
  const isDaemonSet = status?.desiredNumberScheduled !== undefined;
  const available = isDaemonSet ? status.numberAvailable : status?.availableReplicas;
  return {
    version: metadata.labels?.["app.kubernetes.io/version"] ?? "unknown",
    wanted: isDaemonSet ? (status.desiredNumberScheduled ?? 0) : (spec.replicas ?? 1),
    ready: Math.max(0, (available ?? 0) - former.length),
    former: [...counts].map(([name, alike]) => `${alike.length} of ${name}`),
    trouble: troubleOf(pods, status?.conditions),
  };
}

/** Why pods are not ready, as the kubelet, the scheduler and the controller say it: the pull error, no node, a crash, a quota. */
function troubleOf(pods: readonly Pod[], conditions: readonly Condition[] = []): string[] {
  const ofPods = pods
    .filter((pod) => !isReady(pod))
    .flatMap(({ status, spec }) => [
      ...(isLost(status) ? [`node ${spec.nodeName ?? ""}, where it runs, is not Ready`] : []),
      ...(status?.containerStatuses ?? []).flatMap(({ state, lastState, restartCount = 0 }) => {
        const { reason, message = "" } = state?.waiting ?? {};
        const last = lastState?.terminated;
        if (reason === "CrashLoopBackOff" && last)
          return [
            `CrashLoopBackOff: it ended ${count(restartCount, "time")}, last with exit code ${last.exitCode}`,
          ];
        if (reason === "ContainerCreating")
          return [
            `ContainerCreating: image ${imageOf({ spec }) ?? ""} is being pulled, or a volume is being made`,
          ];
        return reason === undefined ? [] : [`${reason} ${message}`.trimEnd()];
      }),
      ...(status?.conditions ?? [])
        .filter(({ type, status: is }) => type === "PodScheduled" && is === "False")
        .map(({ reason = "", message = "" }) => `${reason} ${message}`.trim()),
    ]);
  const ofController = conditions
    .filter(({ type, status: is }) => type === "ReplicaFailure" && is === "True")
    .map(({ reason = "", message = "" }) => `${reason} ${message}`.trim());
  return [...new Set([...ofPods, ...ofController])].map((one) => one.slice(0, longest));
}

/** The kubelet said last that all is well, and somebody else has marked the pod since. */
function isLost(status: Pod["status"]): boolean {
  const containers = status?.containerStatuses ?? [];
  return containers.length > 0 && containers.every(({ ready }) => ready === true);
}

const imageOf = ({ spec }: { readonly spec: Pod["spec"] }): string | undefined => spec.containers[0]?.image;
