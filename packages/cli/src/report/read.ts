import { reportsOf, type DrainReport } from "@lameduck/coordinator";
import { hasStatus, type KubernetesClient, type KubernetesObject } from "@lameduck/kube";
import { CliError } from "../errors.ts";

export interface Wanted {
  readonly namespace: string;
  /** The beginning of the pod's name. */
  readonly pod: string | undefined;
  /** Milliseconds. */
  readonly since: number;
}

/**
 * The reports of a namespace, in the order of their deletions.
 * @throws {CliError} LAMEDUCK_NO_REPORTS where the cluster has no such kind, or nobody may read it.
 */
export async function readReports(
  client: KubernetesClient,
  { namespace, pod = "", since }: Wanted,
  signal: AbortSignal,
): Promise<DrainReport[]> {
  const from = Date.now() - since;
  const all = await listed(client, namespace, signal);
  return all
    .filter(isReport)
    .filter((one) => one.pod.name.startsWith(pod) && Date.parse(one.deletedAt) >= from)
    .sort((a, b) => Date.parse(a.deletedAt) - Date.parse(b.deletedAt));
}

async function listed(
  client: KubernetesClient,
  namespace: string,
  signal: AbortSignal,
): Promise<readonly KubernetesObject[]> {
  const place = `DrainReports of namespace ${namespace}`;
  try {
    return await client.list(reportsOf(namespace), signal);
  } catch (error) {
    if (hasStatus(error, 404))
      throw new CliError("LAMEDUCK_NO_REPORTS", place, "the cluster has no such kind of object");
    if (hasStatus(error, 403)) throw new CliError("LAMEDUCK_REPORTS_FORBIDDEN", place, error.message);
    throw error;
  }
}

/** A report of another release may lack fields that this release shows. */
function isReport(object: KubernetesObject): object is DrainReport {
  const { pod, summary, moments, consumers, containers, unknown, deletedAt } = object as Partial<DrainReport>;
  const lists = [consumers, containers, unknown];
  return (
    typeof pod?.name === "string" &&
    typeof summary?.text === "string" &&
    typeof moments === "object" &&
    typeof deletedAt === "string" &&
    lists.every((one) => Array.isArray(one))
  );
}
