export { manifestFromCommand } from "./command.ts";
export { manifestErrors } from "./errors.ts";
export { readManifest } from "./read.ts";
export type {
  ContainerTemplate,
  CountOrShare,
  EnvEntry,
  Handler,
  InitContainerTemplate,
  PodTemplate,
  Probe,
  Strategy,
  Workload,
} from "./template.ts";
