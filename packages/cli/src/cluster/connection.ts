import { KubernetesClient, type ClusterConnection } from "@lameduck/kube";
import { clusterConnection } from "@lameduck/kube/kubeconfig";
import { mustBeNamespace } from "../options.ts";

/** How a cluster is reached, and by whom. */
export interface ClusterFlags {
  readonly context?: string | undefined;
  readonly kubeconfig?: string | undefined;
  readonly as?: string | undefined;
}

/** @throws coded errors of the kubeconfig. */
export function connectionOf({ context, kubeconfig, as: user }: ClusterFlags): ClusterConnection {
  return clusterConnection({ context, kubeconfig, user });
}

export interface ConnectionFlags extends ClusterFlags {
  readonly lameduckNamespace: string;
}

/** Where the pods of somebody's workload are. */
export interface WorkloadFlags extends ClusterFlags {
  readonly namespace?: string;
}

/** @throws coded errors of the kubeconfig, and of a namespace whose name is none. */
export function connectToWorkload({ namespace, ...flags }: WorkloadFlags): {
  readonly client: KubernetesClient;
  readonly namespace: string;
} {
  const client = new KubernetesClient(connectionOf(flags));
  return {
    client,
    namespace: mustBeNamespace("--namespace", namespace ?? client.connection.namespace),
  };
}

export function connect({ lameduckNamespace, ...flags }: ConnectionFlags): KubernetesClient {
  mustBeNamespace("--lameduck-namespace", lameduckNamespace);
  return new KubernetesClient(connectionOf(flags));
}
