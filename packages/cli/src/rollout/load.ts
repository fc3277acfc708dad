import { baselineMs, type RolloutSettings, type Target } from "@lameduck/rollout";
import {
  inClusterRules,
  InClusterLoad,
  openRoute,
  requestsLoad,
  RouteLoad,
  type OpenRoute,
} from "@lameduck/load";
import type { KubernetesClient, Rule } from "@lameduck/kube";
import type { RolloutOptions } from "./options.ts";
import type { RolloutRequest } from "./settings.ts";

/** The same load in each run. */
export const seed = 1;

/** A request without an answer after this time is lost. */
export const requestTimeoutMs = 10_000;

/** What the load needs of the cluster. */
export function loadRules({ routes }: RolloutRequest, { inCluster }: RolloutOptions): readonly Rule[] {
  return inCluster !== undefined ? inClusterRules(routes) : [];
}

/** Asks each URL once; those of a load in the cluster need not be reachable from here, and are asked by its pods. */
export function openRoutes(
  { routes }: RolloutRequest,
  { inCluster }: RolloutOptions,
  signal: AbortSignal,
): Promise<OpenRoute[]> {
  return Promise.all(inCluster !== undefined ? [] : routes.map((route) => openRoute(route, signal)));
}

interface LoadParts {
  readonly client: KubernetesClient;
  readonly request: RolloutRequest;
  readonly options: RolloutOptions;
  readonly target: Target;
  readonly opened: readonly OpenRoute[];
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/** The load as the options ask for it; undefined where there is none. */
export function loadOf(parts: LoadParts): RolloutSettings["load"] {
  const { client, request, options, target, opened, say, signal } = parts;
  const { requests, inCluster, image, drain } = options;
  const learn = request.warmUp + baselineMs;
  if (requests)
    return (clock) =>
      Promise.resolve(
        requestsLoad({
          clock,
          files: requests,
          learn,
          ...(options.expectStatus === undefined ? {} : { meant: options.expectStatus }),
        }),
      );
  if (request.routes.length === 0) return undefined;
  const common = {
    rate: options.rps,
    pooledShare: request.pooledShare,
    timeout: requestTimeoutMs,
    maxDuration: request.bounds.duration,
    maxRequests: request.bounds.maxRequests,
    learn,
    seed,
  };
  if (inCluster === undefined) return (clock) => RouteLoad.start({ ...common, clock, routes: opened });
  return (clock) =>
    InClusterLoad.start({
      ...common,
      kube: client,
      clock,
      namespace: request.reference.namespace,
      routes: request.routes,
      parallel: inCluster,
      like: target.podSpec,
      ...(image === undefined ? {} : { image }),
      ...(drain === undefined ? {} : { avoidNodes: [drain] }),
      say,
      signal,
    });
}
