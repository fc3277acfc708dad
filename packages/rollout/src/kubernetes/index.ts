export * from "./actions/index.ts";
export { ApiFailure, KubernetesClient } from "./client/client.ts";
export type { ClusterConnection, Credentials } from "./client/connection.ts";
export { Follower, type Change, type FollowCounts } from "./client/follower.ts";
export { clusterConnection, type ConnectionOptions } from "./client/kubeconfig.ts";
export { KubernetesError, kubernetesErrors, type KubernetesErrorCode } from "./errors.ts";
export * from "./in-cluster/index.ts";
export type { LoadCounts, LoadEnd, LoadSeen, LoadSource } from "./load-source.ts";
export { rightsYaml, type Rule } from "./permissions.ts";
export {
  aboutRoute,
  checkRights,
  inspect,
  looksLikeProduction,
  neededRules,
  type Rights,
} from "./preflight.ts";
export { observedFacts, rolloutConclusion, rolloutNotes, rolloutResult } from "./results.ts";
export { requestsErrors, RequestsError, type RequestsErrorCode } from "./requests-file/index.ts";
export { requestsLoad, type RequestsLoadOptions } from "./requests-load.ts";
export { openRoute, parseRoutes, type OpenRoute, type Route, type RouteManner } from "./routes/route.ts";
export { RouteLoad, type RouteLoadOptions } from "./routes/route-load.ts";
export {
  baseline,
  longestSettling,
  runRollout,
  type RolloutHooks,
  type RolloutOutcome,
  type RolloutProgress,
  type RolloutRun,
  type RolloutSettings,
} from "./run.ts";
export { nameOf, parseTarget, targetKinds, type TargetReference } from "./target/reference.ts";
export { findTarget, type Target } from "./target/target.ts";
export { checkVersion } from "./version.ts";
