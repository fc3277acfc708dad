import { hasStatus, type KubernetesClient, orUndefined, type PodDisruptionBudget } from "@lameduck/kube";

interface BudgetStatus {
  readonly disruptionsAllowed?: number;
  readonly disruptedPods?: Readonly<Record<string, string>>;
  readonly observedGeneration?: number;
}

/** Milliseconds since 1970 as the API server writes them. */
const timeOf = (now: number): string => new Date(now).toISOString().replace(/\.\d+Z$/, "Z");

/**
 * Takes a disruption from a budget, as the API server does when it evicts a pod (pkg/registry/core/pod/storage/eviction.go): a pod that
 * has lost the label by which the budget knows it would be evicted without asking the budget. @returns why not, or undefined.
 */
export async function reserve(
  client: KubernetesClient,
  budget: PodDisruptionBudget,
  pod: string,
  now: number,
): Promise<string | undefined> {
  const { metadata } = budget;
  const status: BudgetStatus = budget.status ?? {};
  const { disruptionsAllowed = 0, disruptedPods = {}, observedGeneration = 0 } = status;
  if (disruptedPods[pod] !== undefined) return undefined;
  if (observedGeneration < (metadata.generation ?? 0))
    return `the budget ${metadata.name} is being recalculated`;
  if (disruptionsAllowed < 1) return `the disruption budget ${metadata.name} allows no disruption at present`;
  try {
    await write(client, budget, {
      disruptionsAllowed: disruptionsAllowed - 1,
      disruptedPods: { [pod]: timeOf(now) },
    });
    return undefined;
  } catch (error) {
    // Another eviction was faster: it is asked again.
    if (hasStatus(error, 409)) return `the disruption budget ${metadata.name} has just changed`;
    throw error;
  }
}

/** Has a budget counted again: its controller does not see that a pod has lost its label. */
export async function recount(
  client: KubernetesClient,
  budget: PodDisruptionBudget,
  pod: string,
  now: number,
): Promise<void> {
  // 404, 409: who has changed it has had it counted.
  await orUndefined(write(client, budget, { disruptedPods: { [pod]: timeOf(now) } }), 404, 409);
}

async function write(
  client: KubernetesClient,
  { metadata }: PodDisruptionBudget,
  status: BudgetStatus,
): Promise<void> {
  const { name, namespace = "", resourceVersion } = metadata;
  const path = `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets/${name}/status`;
  await client.patch(path, { metadata: { resourceVersion }, status }, "merge-patch");
}
