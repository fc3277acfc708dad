import { drain, remove, restart, scale, type Action, type TargetReference } from "@lameduck/rollout";

export interface ActionOptions {
  readonly replicas: number;
  /** A node that may be drained. */
  readonly node: string;
}

/** The scenarios that need nothing but the API of a cluster; the others stop components, which only the test cluster lets us. */
export const portableScenarios: Readonly<
  Record<string, (target: TargetReference, options: ActionOptions) => Action>
> = {
  rollout: (target) => restart(target),
  "scale-down": (target, { replicas }) => scale(target, Math.ceil(replicas / 2)),
  delete: (target, { replicas }) => remove(target, { how: "delete", pods: Math.ceil(replicas / 4) }),
  evict: (target, { replicas }) => remove(target, { how: "evict", pods: Math.ceil(replicas / 4) }),
  "drain-node": (target, { node }) => drain(target, node),
};
