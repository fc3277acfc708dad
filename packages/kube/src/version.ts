import type { KubernetesClient } from "./client.ts";
import { KubernetesError } from "./errors.ts";
import { orUndefined } from "./retry.ts";

/** discovery.k8s.io/v1 and policy/v1 came with 1.21. A Job whose pods are not replaced (backoffLimitPerIndex) is on by default since 1.29. */
const oldestMinor = { rollout: 21, inCluster: 29 } as const;

/**
 * An older API server silently drops fields that it does not know.
 * @param oldest minor version of Kubernetes.
 * @param what needs it.
 * @returns a note where the version may not be read.
 * @throws {KubernetesError} LAMEDUCK_CLUSTER_TOO_OLD.
 */
export async function requireVersion(
  client: KubernetesClient,
  oldest: number,
  what: string,
): Promise<string[]> {
  const version = await orUndefined(client.get<{ major?: string; minor?: string }>("/version"), 403, 404);
  const { major = "1", minor = "" } = version ?? {};
  // Managed clusters add a plus sign.
  const number = Number.parseInt(minor, 10);
  if (Number.isNaN(number))
    return [`the cluster's version could not be read; at least Kubernetes 1.${oldest} is needed`];
  if (Number(major) > 1 || number >= oldest) return [];
  throw new KubernetesError(
    "LAMEDUCK_CLUSTER_TOO_OLD",
    client.connection.server.origin,
    `Kubernetes ${major}.${number}; ${what} needs 1.${oldest} or newer`,
  );
}

/** @see requireVersion */
export function checkVersion(client: KubernetesClient, inCluster: boolean): Promise<string[]> {
  return inCluster
    ? requireVersion(client, oldestMinor.inCluster, "--in-cluster")
    : requireVersion(client, oldestMinor.rollout, "lameduck rollout");
}
