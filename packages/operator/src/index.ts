export { OperatorError, operatorErrors, type OperatorErrorCode } from "./errors.ts";
export type { ClusterFacts, Injection, PatchOperation, Reason } from "./inject/injection.ts";
export type { Carrier, InjectionSettings } from "./policy/settings.ts";
