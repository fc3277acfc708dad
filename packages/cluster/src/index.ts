/** What webhook and coordinator know of a cluster. */
export { Listings } from "./endpoints/listings.ts";
export type { EventReason } from "./events/reasons.ts";
export { TokenBucket } from "./events/token-bucket.ts";
export { WorkloadEvents } from "./events/workload-events.ts";
export {
  type ContainerExit,
  type Injected,
  keepNode,
  keepPod,
  keepSlice,
  type KeptNode,
  type KeptPod,
  type KeptSlice,
  sizeOfSlice,
  type WorkloadName,
} from "./objects.ts";
export {
  BoundedCache,
  type IndexedRoute,
  type IndexedService,
  type OnLeftOut,
} from "./paths/bounded-cache.ts";
export { type Exposure, type SelectingService, SenderIndex } from "./paths/index-of-senders.ts";
export { addedWithin } from "./paths/last-times.ts";
export {
  gatewayRoutes,
  type GrantObject,
  inVersion,
  keepLabel,
  keepMetadata,
  keepPolicy,
  type PolicyObject,
  type RouteObject,
  type ServiceObject,
} from "./paths/objects.ts";
export {
  keepGateway,
  keepIngressClass,
  keepRoutingRoute,
  keepRoutingService,
} from "./paths/routing-objects.ts";
export { type PodRoutes, Routing } from "./paths/routing.ts";
export { type Reading, sourcesOf, type SourcesOptions } from "./sources.ts";
