/** The rights that the programs need. */
export {
  coordinatorRights,
  workloadAuditRights,
  heldDeletionRights,
  operatorRights,
  type RoleRule,
} from "./rights.ts";
