export { follow, isReady } from "./client.ts";
export { Cluster, refuseIfInUse } from "./cluster.ts";
export { badOption, ClusterError } from "./errors.ts";
export { stateDirectory } from "./host/paths.ts";
export { findProgram, requireHost } from "./host/requirements.ts";
export { whyNoEnvoy, whyNot, whyNotChosen } from "./host/programs.ts";
export { until } from "./host/until.ts";
export {
  appFiles,
  argoCdImage,
  argoCdPath,
  argoRolloutsImage,
  builtInit,
  contourImage,
  envoyImage,
  haproxyImage,
  initPath,
  nginxImage,
  nodeImage,
  pythonImage,
  gunicornImage,
  javaPath,
  jvmImage,
  recorderImage,
  redisImage,
  requireInit,
  requireSoftware,
} from "./images/catalogue.ts";
export { writeImage } from "./images/image.ts";
export type { ProxyMode } from "./node.ts";
export type { ClusterOptions } from "./options.ts";
export {
  chosen,
  prepare,
  prepareArgoCd,
  prepareArgoRollouts,
  prepareContour,
  prepareEnvoy,
  prepareEnvoyGateway,
  prepareFlux,
  prepareHelm,
  prepareKubeRouter,
} from "./prepare.ts";
export { leftovers, tearDown } from "./teardown.ts";
export type { Manifest } from "./workload.ts";
