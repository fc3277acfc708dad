/** The rights that the programs need. */
export {
  coordinatorRights,
  flaggingRights,
  heldDeletionRights,
  operatorRights,
  type RoleRule,
} from "./rights.ts";
