export { mutatingConfiguration, validatingConfiguration } from "./admission/configurations.ts";
export { admissionPolicy, revisionOf, type PolicyOptions } from "./cel/policy.ts";
export { mountsCarrier, type MountingPod } from "./carrier/copier.ts";
export { CarrierSource, carrierFiles, carrierSumAnnotation } from "./carrier/files.ts";
export { architecturesOf } from "./exposure/cluster-view.ts";
export { heldDeletionsConfiguration } from "./deletions/call/configuration.ts";
export { restoreAll } from "./deletions/restorer.ts";
export type { CoordinatorStatus } from "./coordinator/status.ts";
export type { TerminatingPod, TerminatingPods } from "./coordinator/terminating.ts";
export { OperatorError, operatorErrors } from "./errors.ts";
export { coordinatorVariable } from "./inject/coordinator.ts";
export { carrierKeys, carrierPath, initFile, registerFile } from "./inject/carrier.ts";
export { inject } from "./inject/inject.ts";
export { applyPatch } from "./inject/apply-patch.ts";
export {
  reasonCodes,
  type ClusterFacts,
  type Injection,
  type PatchOperation,
  type ReasonCode,
} from "./inject/injection.ts";
export { injectLabelValue, reasonToSkip, systemNamespaces, type PodNamespace } from "./inject/skip.ts";
export { injectedAnnotation } from "./inject/pod.ts";
export { removeFromManifests, type RemovedManifests } from "./manifest/remove-manifests.ts";
export {
  injectManifests,
  type InjectedManifests,
  type ManifestOptions,
} from "./manifest/inject-manifests.ts";
export {
  consumerAccount,
  declining,
  heldMark,
  endAnnotation,
  endAnnotationValue,
  holdLabel,
  injectLabel,
  oldestKubernetes,
  operatorNames,
  probeAnnotation,
} from "./names.ts";
export { drainPolicyCrd } from "./policy/crd.ts";
export { settingFields, settingNames, type SettingName } from "./policy/fields.ts";
export { settingsFor, type SettingSources } from "./policy/merge.ts";
export {
  defaultSettings,
  type Architecture,
  type Carrier,
  type InjectionSettings,
} from "./policy/settings.ts";
export { policyName, policyVersion, validateAnnotations, validatePolicy } from "./policy/validate.ts";
export { drainReportCrd } from "./records/report/crd.ts";
export { reportsOf, type ConsumerRecord, type DrainReport } from "./records/report/drain-report.ts";
export {
  coordinatorRights,
  flaggingRights,
  heldDeletionRights,
  operatorRights,
  type RoleRule,
} from "./rights.ts";
