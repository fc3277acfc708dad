import type { Bounds } from "./rounding.ts";

/** What the controllers know of one pod that is not being deleted. */
export interface PodView {
  readonly name: string;
  readonly revision: number;
  readonly createdAt: number;
  readonly ready: boolean;
  /** Ready for minReadySeconds. */
  readonly available: boolean;
  readonly readySince?: number;
  readonly restarts: number;
}

interface DesiredState {
  readonly replicas: number;
  readonly revision: number;
  readonly bounds: Bounds;
}

interface Step {
  /** Pods of the desired revision to create. */
  readonly create: number;
  readonly remove: readonly string[];
}

/**
 * One look of the Deployment controller (rolling.go): first the new pods grow into the surge; if they cannot, old ones go, unhealthy
 * ones before healthy ones, as long as enough pods are available. Pods being deleted are not counted by either side.
 */
export function rollingStep(pods: readonly PodView[], desired: DesiredState): Step {
  const fresh = pods.filter(({ revision }) => revision === desired.revision);
  const old = pods.filter(({ revision }) => revision !== desired.revision);
  const { replicas, bounds } = desired;
  const create = Math.min(replicas + bounds.maxSurge - pods.length, replicas - fresh.length);
  if (create > 0) return { create, remove: [] };
  if (fresh.length > replicas) return { create: 0, remove: chosen(fresh, fresh.length - replicas) };
  return { create: 0, remove: oldPodsToRemove(old, fresh, desired) };
}

function oldPodsToRemove(
  old: readonly PodView[],
  fresh: readonly PodView[],
  { replicas, bounds }: DesiredState,
): string[] {
  const least = replicas - bounds.maxUnavailable;
  const freshUnavailable = fresh.filter(({ available }) => !available).length;
  const most = old.length + fresh.length - least - freshUnavailable;
  if (most <= 0) return [];
  const unhealthy = chosen(
    old.filter(({ available }) => !available),
    most,
  );
  const available = [...old, ...fresh].filter((pod) => pod.available).length;
  const healthy = chosen(
    old.filter((pod) => pod.available),
    Math.max(0, available - least),
  );
  return [...unhealthy, ...healthy];
}

/** The pods a ReplicaSet parts with first: not ready, then ready for the shortest time, then restarted most, then youngest. */
function chosen(pods: readonly PodView[], count: number): string[] {
  return pods
    .toSorted(
      (a, b) =>
        Number(a.ready) - Number(b.ready) ||
        (b.readySince ?? 0) - (a.readySince ?? 0) ||
        b.restarts - a.restarts ||
        b.createdAt - a.createdAt,
    )
    .slice(0, Math.max(0, count))
    .map(({ name }) => name);
}

/** Recreate: nothing new before the last old pod is gone. `stillEnding` are pods whose deletion is not over. */
export function recreateStep(pods: readonly PodView[], stillEnding: number, desired: DesiredState): Step {
  const old = pods.filter(({ revision }) => revision !== desired.revision);
  if (old.length > 0) return { create: 0, remove: old.map(({ name }) => name) };
  const missing = desired.replicas - pods.length;
  if (missing > 0) return { create: stillEnding > 0 && pods.length === 0 ? 0 : missing, remove: [] };
  return { create: 0, remove: pods.slice(desired.replicas).map(({ name }) => name) };
}
