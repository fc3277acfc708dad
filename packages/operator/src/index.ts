/** The rights that the programs need. */
export {
  balancerRights,
  coordinatorRights,
  workloadAuditRights,
  heldDeletionRights,
  surgeRights,
  operatorRights,
  type RoleRule,
} from "./rights.ts";
