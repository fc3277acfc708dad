import { AuditError, auditedTypes, type InputFile } from "@lameduck/audit";
import {
  clusterConnection,
  hasStatus,
  KubernetesClient,
  type ConnectionOptions,
  type KubernetesObject,
} from "@lameduck/kube";
import { messageOf } from "@lameduck/drain/common";
import { Progress } from "../progress.ts";
import type { Read } from "./input.ts";

export interface ClusterOptions extends ConnectionOptions {
  /** undefined: that of the context. */
  readonly namespace: string | undefined;
  readonly allNamespaces: boolean;
}

export interface ClusterRead extends Read {
  /** "1.36"; undefined where the cluster does not tell. */
  readonly version: string | undefined;
  /** Types that may not be listed. */
  readonly notRead: ReadonlySet<string>;
}

/** Where the API server keeps what the rules read: version and plural name by type. */
const collections: Readonly<Record<string, readonly [version: string, plural: string]>> = {
  "/Pod": ["v1", "pods"],
  "/ReplicationController": ["v1", "replicationcontrollers"],
  "/Service": ["v1", "services"],
  "/Namespace": ["v1", "namespaces"],
  "apps/Deployment": ["v1", "deployments"],
  "apps/StatefulSet": ["v1", "statefulsets"],
  "apps/DaemonSet": ["v1", "daemonsets"],
  "apps/ReplicaSet": ["v1", "replicasets"],
  "argoproj.io/Rollout": ["v1alpha1", "rollouts"],
  "networking.k8s.io/Ingress": ["v1", "ingresses"],
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

const clusterWide: ReadonlySet<string> = new Set([
  "/Namespace",
  "kyverno.io/ClusterPolicy",
  "mutations.gatekeeper.sh/Assign",
]);
const pageSize = 500;

/** The same objects that files would hold, as they are in the cluster. Nothing is changed. */
export async function readCluster({
  namespace,
  allNamespaces,
  ...options
}: ClusterOptions): Promise<ClusterRead> {
  const connection = clusterConnection(options);
  const client = new KubernetesClient(connection);
  const within = allNamespaces ? undefined : (namespace ?? connection.namespace);
  const progress = new Progress();
  const files: InputFile[] = [];
  const failures: AuditError[] = [];
  const notRead = new Set<string>();
  try {
    const version = await versionOf(client);
    if (within !== undefined) await mustExist(client, within);
    const groups = await groupsOf(client);
    const installed = Object.keys(collections).filter(
      (type) => auditedTypes.has(type) && (groups?.has(type.split("/")[0] ?? "") ?? true),
    );
    for (const type of installed) {
      progress.update("reading the cluster", type);
      try {
        for await (const object of objectsOf(client, type, within)) files.push(fileOf(object));
      } catch (error) {
        // Kinds that are not installed are not there to be audited.
        if (hasStatus(error, 404)) continue;
        if (!hasStatus(error, 403)) throw error;
        notRead.add(type);
        failures.push(new AuditError("LAMEDUCK_AUDIT_NOT_PERMITTED", type, messageOf(error)));
      }
    }
    return { files, failures, version, notRead };
  } finally {
    progress.done();
    client.close();
  }
}

async function* objectsOf(
  client: KubernetesClient,
  type: string,
  namespace: string | undefined,
): AsyncIterable<Listed> {
  const [version, plural] = collections[type] as readonly [string, string];
  const [group = "", kind = ""] = type.split("/");
  const apiVersion = group === "" ? version : `${group}/${version}`;
  const root = group === "" ? `/api/${version}` : `/apis/${apiVersion}`;
  const within =
    namespace === undefined || clusterWide.has(type) ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
  let next = "";
  do {
    const query = `limit=${pageSize}${next === "" ? "" : `&continue=${encodeURIComponent(next)}`}`;
    const page = await client.get<Page>(`${root}${within}/${plural}?${query}`);
    // The items of a list do not say what they are.
    for (const item of page.items ?? []) yield { ...item, apiVersion, kind };
    next = page.metadata?.continue ?? "";
  } while (next !== "");
}

type Listed = KubernetesObject & { readonly apiVersion: string; readonly kind: string };

interface Page {
  readonly items?: readonly KubernetesObject[] | null;
  readonly metadata?: { readonly continue?: string };
}

/** Its place is its name: an object of a cluster has no lines. */
function fileOf(object: Listed): InputFile {
  const { kind, metadata } = object;
  const { managedFields: _, ...own } = metadata as typeof metadata & { managedFields?: unknown };
  const { status: __, ...rest } = object as Listed & { status?: unknown };
  const path = [kind, metadata.namespace ?? "", metadata.name].filter((part) => part !== "").join("/");
  return { name: `cluster:${path}`, text: JSON.stringify({ ...rest, metadata: own }, undefined, 1) };
}

/** An API server lists nothing of a namespace that does not exist, and does not say so. */
async function mustExist(client: KubernetesClient, namespace: string): Promise<void> {
  try {
    await client.get(`/api/v1/namespaces/${encodeURIComponent(namespace)}`);
  } catch (error) {
    if (hasStatus(error, 404))
      throw new AuditError("LAMEDUCK_AUDIT_NO_NAMESPACE", namespace, "there is no such namespace");
    // Who may not read namespaces may still list what is in one.
    if (!hasStatus(error, 403)) throw error;
  }
}

/** The groups that the API server has; undefined where it does not tell. */
async function groupsOf(client: KubernetesClient): Promise<ReadonlySet<string> | undefined> {
  try {
    const { groups = [] } = await client.get<{ readonly groups?: readonly { readonly name: string }[] }>(
      "/apis",
    );
    return new Set(["", ...groups.map(({ name }) => name)]);
  } catch (error) {
    if (hasStatus(error, 403, 404)) return undefined;
    throw error;
  }
}

async function versionOf(client: KubernetesClient): Promise<string | undefined> {
  try {
    const { minor = "" } = await client.get<{ readonly minor?: string }>("/version");
    const number = Number.parseInt(minor, 10);
    return Number.isNaN(number) ? undefined : `1.${number}`;
  } catch (error) {
    if (hasStatus(error, 403, 404)) return undefined;
    throw error;
  }
}
