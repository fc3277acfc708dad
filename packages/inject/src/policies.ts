/** The settings that policies give, and nothing that injects or reads a manifest: loading that takes a third of a coordinator's start. */
export {
  type AcknowledgementSettings,
  acknowledgementsFor,
  isSilenced,
  namesIn,
} from "./policy/acknowledgements.ts";
export { apiGroup, apiVersion, column } from "./policy/crd.ts";
export { settingsFor } from "./policy/merge.ts";
export { policyName } from "./policy/validate.ts";
