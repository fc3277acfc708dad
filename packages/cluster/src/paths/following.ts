import type { Change, KubernetesObject, Source } from "@lameduck/kube";
import { followed, type FollowedKind, type Follow } from "../sources.ts";
import type { PathIndex } from "./path-index.ts";
import { routeKinds } from "./route-kinds.ts";
import type { ServiceObject } from "./services.ts";
import { slimGrant, type SlimPaths, type SlimService } from "./slim-paths.ts";

/** What is followed of them: Services, routes of the kinds that every cluster has, and what must be installed. */
interface PathSources {
  readonly services: Source<SlimService>;
  readonly builtIn: readonly Source<KubernetesObject>[];
  readonly installed: readonly Source<KubernetesObject>[];
}

/** Follows Services, all that leads to them, and what lets it in. @param taker an index, or whoever keeps one. */
export function followPaths(
  follow: Follow,
  slim: SlimPaths,
  taker: Pick<PathIndex, "service" | "route" | "grant">,
): PathSources {
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
  const grants = bounded(followed.referenceGrants, slimGrant, (change) => taker.grant(change));
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
