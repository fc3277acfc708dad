import type { PodView } from "./rolling.ts";

export interface OrdinalView extends PodView {
  readonly ordinal: number;
}

interface OrderedState {
  readonly replicas: number;
  readonly revision: number;
  /** Ordinals below it keep their revision. */
  readonly partition: number;
  /** podManagementPolicy: Parallel. Updates go one by one all the same. */
  readonly startTogether: boolean;
}

interface OrderedStep {
  readonly create: readonly number[];
  readonly remove: readonly string[];
}

const nothing: OrderedStep = { create: [], remove: [] };

/**
 * One look of the StatefulSet controller: an ordinal is filled again only when its pod is gone, the next one only when those before
 * it are available; updates go from the highest ordinal down, one at a time. `ending` are the ordinals of pods being deleted.
 */
export function orderedStep(
  pods: readonly OrdinalView[],
  ending: ReadonlySet<number>,
  desired: OrderedState,
): OrderedStep {
  const byOrdinal = new Map(pods.map((pod) => [pod.ordinal, pod]));
  const create: number[] = [];
  for (let ordinal = 0; ordinal < desired.replicas; ordinal++) {
    const pod = byOrdinal.get(ordinal);
    if (!pod && !ending.has(ordinal)) create.push(ordinal);
    if (!desired.startTogether && !pod?.available) return { create, remove: [] };
  }
  if (create.length > 0) return { create, remove: [] };
  if (ending.size > 0) return nothing;
  const surplus = pods
    .filter(({ ordinal }) => ordinal >= desired.replicas)
    .toSorted((a, b) => b.ordinal - a.ordinal);
  if (surplus[0])
    return {
      create: [],
      remove: (desired.startTogether ? surplus : surplus.slice(0, 1)).map(({ name }) => name),
    };
  for (let ordinal = desired.replicas - 1; ordinal >= desired.partition; ordinal--) {
    const pod = byOrdinal.get(ordinal);
    if (pod && pod.revision !== desired.revision) return { create: [], remove: [pod.name] };
    if (!pod?.available) return nothing;
  }
  return nothing;
}
