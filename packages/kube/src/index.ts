export { ApiFailure } from "./answer.ts";
export { KubernetesClient } from "./client.ts";
export type { ClusterConnection } from "./connection/connection.ts";
export { KubernetesError, kubernetesErrors, type KubernetesErrorCode } from "./errors.ts";
export { type Change, type FollowCounts, Follower } from "./following/follower.ts";
export { type Command, type CommandEnd, runInContainer } from "./exec.ts";
export { Lease } from "./lease.ts";
export {
  type Condition,
  type Container,
  type ContainerState,
  type ContainerStatus,
  type EndpointSlice,
  type Event,
  type Handler,
  type HorizontalPodAutoscaler,
  type KubernetesObject,
  type LabelSelector,
  type Node,
  type ObjectMeta,
  type OwnerReference,
  type Pod,
  type PodDisruptionBudget,
  type PodSpec,
  type Service,
  type Workload,
  controllerOf,
  isObject,
  isReady,
  selectorText,
  selects,
  serviceSelects,
  serviceSelectsPodsOf,
  workloadNameOf,
} from "./objects.ts";
export { type Rule, missingRights, spellRight } from "./permissions.ts";
export {
  hasStatus,
  isTransient,
  orUndefined,
  retry,
  startupRefusalsMs,
  transientOrStarting,
} from "./retry.ts";
export type { QuotaOptions } from "./following/quota.ts";
export { ServerClock } from "./server-clock.ts";
export { Source, type SourceOptions } from "./following/source.ts";
export { checkVersion, requireVersion } from "./version.ts";
