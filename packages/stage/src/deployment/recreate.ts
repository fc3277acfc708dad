import type { PodView, Step, Wish } from "./rolling.ts";

/** Recreate: nothing new before the last old pod is gone. `stillEnding` are pods whose deletion is not over. */
export function recreateStep(pods: readonly PodView[], stillEnding: number, wish: Wish): Step {
  const old = pods.filter(({ revision }) => revision !== wish.revision);
  if (old.length > 0) return { create: 0, remove: old.map(({ name }) => name) };
  const missing = wish.replicas - pods.length;
  if (missing > 0) return { create: stillEnding > 0 && pods.length === 0 ? 0 : missing, remove: [] };
  return { create: 0, remove: pods.slice(wish.replicas).map(({ name }) => name) };
}
