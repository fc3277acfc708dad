export {
  type ConfigurationOptions,
  mutatingConfiguration,
  validatingConfiguration,
} from "./admission/configurations.ts";
export { admissionPolicy, type PolicyOptions } from "./cel/policy.ts";
export { carrierFiles, carrierSumAnnotation, type CarrierFiles } from "./carrier/files.ts";
export { heldDeletionsConfiguration } from "./deletions/call/configuration.ts";
export { heldPods, restoreAll } from "./deletions/restorer.ts";
export type { ConsumerStatus, CoordinatorStatus } from "./coordinator/status.ts";
export { OperatorError, operatorErrors, type OperatorErrorCode } from "./errors.ts";
export { carrierKeys, carrierPath, initFile, registerFile } from "./inject/carrier.ts";
export type { PodsCoordinator } from "./inject/coordinator.ts";
export { inject } from "./inject/inject.ts";
export {
  reasonCodes,
  type ClusterFacts,
  type Injection,
  type PatchOperation,
  type Reason,
  type ReasonCode,
} from "./inject/injection.ts";
export { injectLabelValue, isLeftAlone, systemNamespaces, type PodNamespace } from "./inject/left-alone.ts";
export { injectedAnnotation } from "./inject/pod.ts";
export {
  injectManifests,
  type InjectedManifests,
  type InjectedWorkload,
  type ManifestOptions,
} from "./manifest/inject-manifests.ts";
export { heldMark, holdLabel, injectLabel, operatorNames } from "./names.ts";
export { drainPolicyCrd } from "./policy/crd.ts";
export { settingFields, settingNames, type SettingName } from "./policy/fields.ts";
export { settingsFor, type MergedSettings, type SettingSource, type SettingSources } from "./policy/merge.ts";
export type { Problem } from "./policy/read.ts";
export {
  defaultSettings,
  type Architecture,
  type Carrier,
  type InjectionSettings,
} from "./policy/settings.ts";
export { policyName, policyVersion, validateAnnotations, validatePolicy } from "./policy/validate.ts";
export { drainReportCrd } from "./records/report/crd.ts";
export {
  reportsOf,
  reportsPath,
  type ConsumerRecord,
  type DrainReport,
} from "./records/report/drain-report.ts";
export { coordinatorRights, heldDeletionRights, operatorRights, type RoleRule } from "./rights.ts";
