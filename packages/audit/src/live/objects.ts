import type { KubernetesClient, KubernetesObject } from "@lameduck/kube";
import type { InputFile } from "../reading.ts";

/** Where the API server keeps what the rules read: version and plural name by type. */
const collections: Readonly<Record<string, readonly [version: string, plural: string]>> = {
  "/Pod": ["v1", "pods"],
  "/ReplicationController": ["v1", "replicationcontrollers"],
  "/Service": ["v1", "services"],
  "/Namespace": ["v1", "namespaces"],
  "/PersistentVolumeClaim": ["v1", "persistentvolumeclaims"],
  "apps/Deployment": ["v1", "deployments"],
  "apps/StatefulSet": ["v1", "statefulsets"],
  "apps/DaemonSet": ["v1", "daemonsets"],
  "apps/ReplicaSet": ["v1", "replicasets"],
  "argoproj.io/Rollout": ["v1alpha1", "rollouts"],
  "networking.k8s.io/Ingress": ["v1", "ingresses"],
  "networking.k8s.io/IngressClass": ["v1", "ingressclasses"],
  "gateway.networking.k8s.io/HTTPRoute": ["v1", "httproutes"],
  "gateway.networking.k8s.io/GRPCRoute": ["v1", "grpcroutes"],
  "gateway.networking.k8s.io/TLSRoute": ["v1alpha2", "tlsroutes"],
  "gateway.networking.k8s.io/TCPRoute": ["v1alpha2", "tcproutes"],
  "gateway.networking.k8s.io/UDPRoute": ["v1alpha2", "udproutes"],
  "autoscaling/HorizontalPodAutoscaler": ["v2", "horizontalpodautoscalers"],
  "keda.sh/ScaledObject": ["v1alpha1", "scaledobjects"],
  "policy/PodDisruptionBudget": ["v1", "poddisruptionbudgets"],
  "kyverno.io/ClusterPolicy": ["v1", "clusterpolicies"],
  "kyverno.io/Policy": ["v1", "policies"],
  "mutations.gatekeeper.sh/Assign": ["v1", "assign"],
};

/** Types of objects that a cluster may hold, such as "apps/Deployment". */
export const liveTypes: readonly string[] = Object.keys(collections);

const clusterWide: ReadonlySet<string> = new Set([
  "/Namespace",
  "networking.k8s.io/IngressClass",
  "kyverno.io/ClusterPolicy",
  "mutations.gatekeeper.sh/Assign",
]);
const pageSize = 500;

export type LiveObject = KubernetesObject & { readonly apiVersion: string; readonly kind: string };

/**
 * Objects of a type, page by page. Each is read as it comes, and what is not kept of it can be freed.
 * @param namespace of these objects, or which one; all where none is given.
 */
export async function* liveObjects<T = LiveObject>(
  client: KubernetesClient,
  type: string,
  namespace: string | undefined,
  keep: (object: LiveObject) => T | undefined,
  { signal, limit = pageSize }: { readonly signal?: AbortSignal | undefined; readonly limit?: number } = {},
): AsyncIterable<T> {
  const [version, plural] = collections[type] as readonly [string, string];
  const [group = "", kind = ""] = type.split("/");
  const apiVersion = group === "" ? version : `${group}/${version}`;
  const root = group === "" ? `/api/${version}` : `/apis/${apiVersion}`;
  const within =
    namespace === undefined || clusterWide.has(type) ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
  const only =
    type === "/Namespace" && namespace !== undefined
      ? `&fieldSelector=metadata.name%3D${encodeURIComponent(namespace)}`
      : "";
  let next = "";
  do {
    const query = `limit=${limit}${only}${next === "" ? "" : `&continue=${encodeURIComponent(next)}`}`;
    // The items of a list do not say what they are.
    const begin = () => (item: unknown) => keep({ ...(item as KubernetesObject), apiVersion, kind });
    const page = await client.page<T>(`${root}${within}/${plural}?${query}`, begin, signal);
    yield* page.items;
    next = page.metadata.continue ?? "";
  } while (next !== "");
}

/** Its place is its name: an object of a cluster has no lines. */
export function fileOf(object: LiveObject): InputFile {
  const { kind, metadata } = object;
  const path = [kind, metadata.namespace ?? "", metadata.name].filter((part) => part !== "").join("/");
  return { name: `cluster:${path}`, text: JSON.stringify(asApplied(object), undefined, 1) };
}

/** As somebody has written it: without what the API server adds. */
export function asApplied(object: LiveObject): LiveObject {
  const { managedFields: _, ...metadata } = object.metadata as typeof object.metadata & {
    managedFields?: unknown;
  };
  const { status: __, ...rest } = object as LiveObject & { status?: unknown };
  return { ...rest, metadata };
}
