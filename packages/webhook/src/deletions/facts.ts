import {
  controllerOf,
  hasStatus,
  isReady,
  type KubernetesClient,
  type KubernetesObject,
  type LabelSelector,
  type Pod,
  type PodDisruptionBudget,
  selectorText,
  selects,
} from "@lameduck/kube";
import type { Labels, Owner } from "./plan.ts";

interface Peer {
  readonly podSelector?: LabelSelector;
  readonly namespaceSelector?: LabelSelector;
}
interface NetworkPolicy extends KubernetesObject {
  readonly spec?: {
    readonly podSelector?: LabelSelector;
    readonly ingress?: readonly { readonly from?: readonly Peer[] }[];
    readonly egress?: readonly { readonly to?: readonly Peer[] }[];
  };
}

const groups = {
  ReplicaSet: "/apis/apps/v1",
  StatefulSet: "/apis/apps/v1",
  ReplicationController: "/api/v1",
} as const;
type Known = keyof typeof groups;

/** What owns the pod, read when it is asked for: few pods are held. */
export async function ownerOf(client: KubernetesClient, pod: Pod): Promise<Owner> {
  const controller = controllerOf(pod);
  if (!controller) return { kind: "none" };
  const { kind, name } = controller;
  if (!(kind in groups)) return { kind: "unknown" };
  const known = kind as Known;
  const { namespace = "" } = pod.metadata;
  const path = `${groups[known]}/namespaces/${namespace}/${kind.toLowerCase()}s/${name}`;
  try {
    const { spec } = await client.get<{ spec: { selector?: unknown; replicas?: number } }>(path);
    const selector = known === "ReplicationController" ? { matchLabels: spec.selector } : spec.selector;
    return { kind: known, selector: selector ?? {}, replicas: spec.replicas };
  } catch (error) {
    // It has been deleted, and nothing knows the pod any more.
    if (hasStatus(error, 404)) return { kind: "none" };
    throw error;
  }
}

/** The budgets that select the pod. */
export async function budgetsOf(
  client: KubernetesClient,
  namespace: string,
  labels: Labels,
): Promise<readonly PodDisruptionBudget[]> {
  const path = `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`;
  const all = await client.list<PodDisruptionBudget>(path);
  return all.filter(({ spec }) => spec.selector !== undefined && selects(spec.selector, labels));
}

interface PolicyKeys {
  readonly namespace: string | undefined;
  readonly own: readonly string[];
  readonly elsewhere: readonly string[];
}

/** A list of NetworkPolicies is used for this long. A drain of a node asks for each of its pods, again and again. */
const policiesCountMs = 2_000;

/** Keys by which NetworkPolicies that may concern a pod select pods: without such a label its traffic may be cut. */
export function policyKeys(client: KubernetesClient): (namespace: string) => Promise<ReadonlySet<string>> {
  let listed: { readonly at: number; readonly keys: Promise<readonly PolicyKeys[]> } | undefined;
  const list = async (): Promise<readonly PolicyKeys[]> =>
    (await client.list<NetworkPolicy>("/apis/networking.k8s.io/v1/networkpolicies")).map((policy) => ({
      namespace: policy.metadata.namespace,
      own: keysOf(policy, true),
      elsewhere: keysOf(policy, false),
    }));
  return async (namespace) => {
    if (listed === undefined || performance.now() - listed.at > policiesCountMs)
      listed = { at: performance.now(), keys: list() };
    const { keys } = listed;
    const all = await keys.catch((error: unknown) => {
      if (listed?.keys === keys) listed = undefined;
      throw error;
    });
    return new Set(all.flatMap((one) => (one.namespace === namespace ? one.own : one.elsewhere)));
  };
}

/** @param isOwn a policy of another namespace reaches pods of ours by peers with a namespaceSelector only. */
function keysOf({ spec = {} }: NetworkPolicy, isOwn: boolean): string[] {
  const { podSelector, ingress = [], egress = [] } = spec;
  const peers = [...ingress.flatMap(({ from = [] }) => from), ...egress.flatMap(({ to = [] }) => to)];
  const reaching = peers.filter(({ namespaceSelector }) => isOwn || namespaceSelector !== undefined);
  const selectors = [
    ...(isOwn && podSelector ? [podSelector] : []),
    ...reaching.map((peer) => peer.podSelector ?? {}),
  ];
  return selectors.flatMap(({ matchLabels = {}, matchExpressions = [] }) => [
    ...Object.keys(matchLabels),
    ...matchExpressions.map(({ key }) => key),
  ]);
}

/** Whether a ReplicaSet has as many ready pods as it wants, without one that it has let go. True where it is gone. */
export async function isReplaced(
  client: KubernetesClient,
  namespace: string,
  replicaSet: string,
): Promise<boolean> {
  try {
    const set = await client.get<KubernetesObject & { spec: { replicas?: number; selector: LabelSelector } }>(
      `/apis/apps/v1/namespaces/${namespace}/replicasets/${replicaSet}`,
    );
    const query = new URLSearchParams({ labelSelector: selectorText(set.spec.selector) }).toString();
    const pods = await client.list<Pod>(`/api/v1/namespaces/${namespace}/pods?${query}`);
    const ready = pods.filter(
      (pod) =>
        controllerOf(pod)?.uid === set.metadata.uid &&
        pod.metadata.deletionTimestamp === undefined &&
        isReady(pod),
    );
    return ready.length >= (set.spec.replicas ?? 1);
  } catch (error) {
    if (hasStatus(error, 404)) return true;
    throw error;
  }
}
