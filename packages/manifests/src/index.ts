export { manifestFromCommand } from "./command.ts";
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
