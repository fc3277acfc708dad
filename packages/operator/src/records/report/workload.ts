import type { Termination } from "../../coordinator/termination.ts";

/** "deployment/web", as kubectl names it; a pod that nobody owns is its own. */
export function workloadText({ workload, name }: Pick<Termination, "workload" | "name">): string {
  return workload === undefined ? `pod/${name}` : `${workload.kind.toLowerCase()}/${workload.name}`;
}
