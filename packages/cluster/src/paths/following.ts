import type { Change, KubernetesObject, Source } from "@lameduck/kube";
import { followed, type FollowedKind, type Follow } from "../sources.ts";
import { routeKinds } from "./route-kinds.ts";
import type { ServiceObject } from "./services.ts";
import type { GrantObject, SlimPaths, SlimRoute, SlimService } from "./slim-paths.ts";

/** Whoever keeps what leads to pods. */
export interface PathTaker {
  service(change: Change<SlimService>): void;
  route(change: Change<SlimRoute>): void;
  grant(change: Change<GrantObject>): void;
}

interface PathSources {
  readonly services: Source<SlimService>;
  /** Routes of the kinds that every cluster has. */
  readonly builtIn: readonly Source<KubernetesObject>[];
  /** Of those that must be installed. */
  readonly installed: readonly Source<KubernetesObject>[];
}

/** Follows Services, all that leads to them, and what lets it in. */
export function followPaths(follow: Follow, slim: SlimPaths, taker: PathTaker): PathSources {
  const bounded = <Slim extends KubernetesObject>(
    kind: FollowedKind,
    slimmed: (object: never) => Slim | undefined,
    take: (change: Change<Slim>) => void,
  ): Source<Slim> => follow(kind, slimmed, take, { quota: slim.quota(kind.name) });
  const routes = (isBuiltIn: boolean): Source<KubernetesObject>[] =>
    routeKinds
      .filter((kind) => kind.isBuiltIn === isBuiltIn)
      .map(
        (kind) =>
          bounded(kind, slim.route(kind), (change) => taker.route(change)) as Source<KubernetesObject>,
      );
  const grants = bounded(
    followed.referenceGrants,
    (grant: GrantObject) => slim.grant(grant),
    (change) => taker.grant(change),
  );
  return {
    services: bounded(
      followed.services,
      (service: ServiceObject) => slim.service(service),
      (change) => taker.service(change),
    ),
    builtIn: routes(true),
    installed: [...routes(false), grants],
  };
}
