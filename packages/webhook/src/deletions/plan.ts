import { selects, type LabelSelector } from "@lameduck/kube";
import type { SelectingService } from "@lameduck/cluster";
import type { NotHeldReason } from "./not-held.ts";

export type Labels = Readonly<Record<string, string>>;

/** The label by which a ReplicaSet of a Deployment knows its pods, and nothing else does. */
export const ownerLabel = "pod-template-hash";

/** What owns a pod, as far as it matters here. */
export type Owner =
  | { readonly kind: "none" | "unknown" }
  | {
      readonly kind: "ReplicaSet" | "ReplicationController" | "StatefulSet";
      readonly selector: LabelSelector;
      readonly replicas?: number | undefined;
    };

export interface PlanFacts {
  readonly labels: Labels;
  readonly services: readonly SelectingService[];
  readonly owner: Owner;
  /** Selectors of the PodDisruptionBudgets that select the pod. */
  readonly budgets: readonly LabelSelector[];
  /** Keys by which NetworkPolicies select pods. */
  readonly policyKeys: ReadonlySet<string>;
}

/** The labels whose absence takes the pod out of every Service, and of as little else as possible. */
export type Plan = { readonly remove: readonly string[] } | { readonly because: NotHeldReason };

/** A label costs so much. What no owner and no budget knows is free; owners are dearer than budgets, which we can tell ourselves. */
const costs = { each: 1, budget: 10, owner: 100 } as const;

export function planRemoval(facts: PlanFacts): Plan {
  const { labels, services, owner, policyKeys } = facts;
  if (services.length === 0) return { because: "nothing-leads-to-it" };
  if (owner.kind === "unknown") return { because: "owner-unknown" };
  const selectsByOwner = (key: string): boolean =>
    "selector" in owner && !selects(owner.selector, withoutLabels(labels, [key]));
  // A StatefulSet cannot replace a pod whose name is still taken, and a pod that it has lost does not wake it when it ends.
  const isLocked = (key: string): boolean => owner.kind === "StatefulSet" && selectsByOwner(key);
  const candidates = services.map(({ selector }) => selector.map(([key]) => key));
  const free = candidates.map((keys) => keys.filter((key) => !policyKeys.has(key)));
  if (free.some((keys) => keys.length === 0)) return { because: "network-policy-needs-label" };
  const allowed = free.map((keys) => keys.filter((key) => !isLocked(key)));
  if (allowed.some((keys) => keys.length === 0)) return { because: "owner-needs-label" };
  const costOf = (key: string): number =>
    costs.each + (selectsByOwner(key) ? costs.owner : 0) + (selectsByBudget(facts, key) ? costs.budget : 0);
  return { remove: cheapest(allowed, costOf) };
}

export function withoutLabels(labels: Labels, keys: readonly string[]): Labels {
  return Object.fromEntries(Object.entries(labels).filter(([key]) => !keys.includes(key)));
}

function selectsByBudget({ labels, budgets }: PlanFacts, key: string): boolean {
  return budgets.some((selector) => !selects(selector, withoutLabels(labels, [key])));
}

/** More Services than these select few pods; beyond, each has its own cheapest label taken. */
const mostSearched = 8;

/** A key of each list, at the least cost in sum. */
function cheapest(lists: readonly (readonly string[])[], costOf: (key: string) => number): string[] {
  const distinct = [...new Map(lists.map((keys) => [keys.join("\0"), keys])).values()];
  let best: { readonly keys: readonly string[]; readonly cost: number } | undefined;
  const search = (rest: readonly (readonly string[])[], keys: readonly string[], cost: number): void => {
    if (best && cost >= best.cost) return;
    const [next, ...later] = rest.filter((one) => !one.some((key) => keys.includes(key)));
    if (!next) {
      best = { keys, cost };
      return;
    }
    const order = [...next].sort((a, b) => costOf(a) - costOf(b) || (a < b ? -1 : 1));
    const tried = distinct.length > mostSearched ? order.slice(0, 1) : order;
    for (const key of tried) search(later, [...keys, key], cost + costOf(key));
  };
  search(distinct, [], 0);
  return [...(best?.keys ?? [])].sort();
}
