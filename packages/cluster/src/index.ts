/** What webhook and coordinator know of a cluster. */
export { Listings } from "./endpoints/listings.ts";
export { eventMeanings, type EventReason } from "./events/reasons.ts";
export { TokenBucket } from "./events/token-bucket.ts";
export { WorkloadEvents } from "./events/workload-events.ts";
export {
  type ContainerExit,
  identityOf,
  type Injected,
  seenPod,
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
export {
  convergenceOfNeeds,
  convergenceOfPod,
  seenRoute,
  slowerOf,
  toldByRoute,
  type ToldByRoute,
} from "./paths/convergence.ts";
export { type IncompleteServices, incompleteServices } from "./paths/incomplete.ts";
export { followKinds, followPaths, followRecognised, shownByNamespace } from "./paths/following.ts";
export { addedWithinMs } from "./paths/last-times.ts";
export { type TrafficPaths, PathIndex, type SelectingService } from "./paths/path-index.ts";
export { placesOf } from "./paths/places.ts";
export { exposingKinds, recognisedKinds, type RouteObject, routeKinds } from "./paths/route-kinds.ts";
export { type PodRoutes, Routing } from "./paths/routing.ts";
export { type Showing, ShownSenders } from "./paths/shown-senders.ts";
export {
  type OnLeftOut,
  slimGateway,
  SlimPaths,
  type SlimRoute,
  type SlimService,
} from "./paths/slim-paths.ts";
export { type Follow, followed, following, type SourcesOptions } from "./sources.ts";
