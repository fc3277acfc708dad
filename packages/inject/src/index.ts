/** The injection: of a pod, of manifests, as a policy; and the settings that it follows. */
export { adviceOn } from "./advice.ts";
export { applyPatch } from "./apply-patch.ts";
export { replaceableSleep } from "./former-sleep.ts";
export { initVolumeKeys } from "./init-volume.ts";
export { admissionPolicy, type PolicyOptions, revisionOf } from "./cel/policy.ts";
export { inject } from "./inject.ts";
export {
  type ClusterFacts,
  type PatchOperation,
  type PodsCoordinator,
  type Reason,
  reasonCodes,
  reasonRemedies,
  type Times,
} from "./injection.ts";
export {
  type InjectedManifests,
  injectManifests,
  type ManifestOptions,
} from "./manifest/inject-manifests.ts";
export { type RemovedManifests, removeFromManifests } from "./manifest/remove-manifests.ts";
export {
  type AcknowledgementSettings,
  acknowledgementsFor,
  type AcknowledgementSources,
  isSilenced,
  namesIn,
} from "./policy/acknowledgements.ts";
export { apiGroup, apiVersion, column, drainPolicyCrd } from "./policy/crd.ts";
export { settingsFor, type SettingSources } from "./policy/merge.ts";
export { mapIn } from "./pod.ts";
export { cut, formatProblem, type Problem } from "./policy/read.ts";
export { architectures } from "@lameduck/options";
export { type Architecture, defaultSettings } from "./policy/settings.ts";
export { misplacedSettings, policyName, validateAnnotations, validatePolicy } from "./policy/validate.ts";
export { timesOf, usualGrace } from "./times.ts";
export type { PodView } from "./pod.ts";
export { injectLabelValue, podToInject, systemNamespaces } from "./skip.ts";
