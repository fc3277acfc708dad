import {
  balancerRights,
  coordinatorRights,
  workloadAuditRights,
  heldDeletionRights,
  operatorRights,
  type RoleRule,
} from "@lameduck/operator";
import { operatorNames } from "@lameduck/protocol";

const { namespace, balancers, coordinator, watcher, workload } = operatorNames;

/** One account of the chart, and what it needs: everywhere, and in its own namespace. */
export interface Account {
  readonly namespace: string;
  readonly name: string;
  readonly everywhere: readonly RoleRule[];
  readonly own: readonly RoleRule[];
}

export const accounts: readonly Account[] = [
  {
    namespace,
    name: workload,
    everywhere: [...operatorRights.clusterRole, ...workloadAuditRights, ...heldDeletionRights],
    own: [...operatorRights.role, ...operatorRights.certificates],
  },
  {
    namespace,
    name: coordinator.workload,
    everywhere: coordinatorRights.clusterRole,
    own: coordinatorRights.role,
  },
  { namespace, name: balancers.workload, everywhere: balancerRights, own: [] },
  // The nodes' watcher shows its token to the coordinator only.
  { namespace: watcher.namespace, name: watcher.workload, everywhere: [], own: [] },
];
