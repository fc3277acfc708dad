export { follow, isReady } from "./client.ts";
export { Cluster, refuseIfInUse } from "./cluster.ts";
export type { ComponentState } from "./component.ts";
export { badOption, ClusterError, clusterErrors, type ClusterErrorCode } from "./errors.ts";
export { stateDirectory } from "./host/paths.ts";
export { findProgram, requireHost, requireProgram } from "./host/requirements.ts";
export { whyNot } from "./host/programs.ts";
export { until, type UntilOptions } from "./host/until.ts";
export {
  appFiles,
  builtInit,
  haproxyImage,
  initPath,
  nginxImage,
  nodeImage,
  pythonImage,
  recorderImage,
  requireInit,
} from "./images/catalogue.ts";
export type { ProxyMode } from "./node.ts";
export type { ClusterOptions, Settings } from "./options.ts";
export { prepare, prepareHelm } from "./prepare.ts";
export { leftovers, tearDown } from "./teardown.ts";
export type { Manifest } from "./workload.ts";
