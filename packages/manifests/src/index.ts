export { manifestFromCommand } from "./workload/command.ts";
export { ManifestError, manifestErrors } from "./errors.ts";
export { manifestYaml, readDocuments } from "./documents.ts";
export { Field } from "./field.ts";
export { readManifest } from "./workload/read.ts";
export {
  appendItems,
  applyEdits,
  type Edit,
  exchangeField,
  fieldText,
  insertField,
  insertFields,
  replaceField,
  replaceScalar,
  scalar,
  type Written,
} from "./splice.ts";
export { emptyValue, removeEntries, removeValue } from "./removing.ts";
export { runsPods } from "./runs-pods.ts";
export { readStream, type Stream } from "./stream.ts";
export type {
  ContainerRoot,
  ContainerTemplate,
  CountOrShare,
  EnvEntry,
  Handler,
  InitContainerTemplate,
  PodTemplate,
  Probe,
  Security,
  Strategy,
  Workload,
} from "./workload/template.ts";
