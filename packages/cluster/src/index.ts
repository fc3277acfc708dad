/** What webhook and coordinator know of a cluster. */
export { Listings } from "./endpoints/listings.ts";
export type { EventReason } from "./events/reasons.ts";
export { TokenBucket } from "./events/token-bucket.ts";
export { WorkloadEvents } from "./events/workload-events.ts";
export {
  type ContainerExit,
  identityOf,
  type Injected,
  slimToLabel,
  slimNode,
  slimPod,
  slimPolicy,
  slimSlice,
  type SlimNode,
  type SlimPod,
  type SlimSlice,
  type PolicyObject,
  sizeOfSlice,
  type WorkloadName,
} from "./objects.ts";
export { followPaths } from "./paths/following.ts";
export { addedWithin } from "./paths/last-times.ts";
export { type TrafficPaths, PathIndex, type SelectingService } from "./paths/path-index.ts";
export { routeKinds } from "./paths/route-kinds.ts";
export { type PodRoutes, Routing } from "./paths/routing.ts";
export {
  type OnLeftOut,
  slimGateway,
  slimIngressClass,
  SlimPaths,
  type SlimRoute,
  type SlimService,
} from "./paths/slim-paths.ts";
export { type Follow, followed, following, type SourcesOptions } from "./sources.ts";
