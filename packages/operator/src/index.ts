export {
  type ConfigurationOptions,
  mutatingConfiguration,
  validatingConfiguration,
} from "./admission/configurations.ts";
export { OperatorError, operatorErrors, type OperatorErrorCode } from "./errors.ts";
export type { ClusterFacts, Injection, PatchOperation, Reason } from "./inject/injection.ts";
export { injectLabel, operatorNames } from "./names.ts";
export type { Carrier, InjectionSettings } from "./policy/settings.ts";
export { operatorRights, type RoleRule } from "./rights.ts";
