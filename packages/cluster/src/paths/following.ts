import type { Change, KubernetesObject, Source } from "@lameduck/kube";
import { sendersOfNamespace } from "@lameduck/senders";
import { identityOf } from "../objects.ts";
import { followed, type FollowedKind, type Follow } from "../sources.ts";
import type { PathIndex } from "./path-index.ts";
import { recognisedKinds, type RouteKind, type RouteObject, routeKinds } from "./route-kinds.ts";
import type { ServiceObject } from "./services.ts";
import type { Routing } from "./routing.ts";
import type { Showing } from "./shown-senders.ts";
import {
  slimGrant,
  slimIngressClass,
  type SlimPaths,
  type SlimRoute,
  type SlimService,
} from "./slim-paths.ts";

/** What is followed of them: Services; routes and classes of the kinds that every cluster has; what must be installed. */
interface PathSources {
  readonly services: Source<SlimService>;
  readonly builtIn: readonly Source<KubernetesObject>[];
  readonly installed: readonly Source<KubernetesObject>[];
}

/** Follows Services, all that leads to them, and what lets it in. @param taker an index, or whoever keeps one. */
export function followPaths(
  follow: Follow,
  slim: SlimPaths,
  taker: Pick<PathIndex, "service" | "route" | "grant" | "ingressClass">,
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
    builtIn: [
      ...routes(true),
      follow(followed.ingressClasses, slimIngressClass, (change) => taker.ingressClass(change)),
    ],
    installed: [...routes(false), grants],
  };
}

/** Follows what shows senders that nobody need report for: objects of other API groups, and labels of namespaces. */
export function followRecognised(
  follow: Follow,
  slim: SlimPaths,
  taker: Pick<Routing, "route" | "shows">,
  now: () => number,
): readonly Source<KubernetesObject>[] {
  return [
    // Of one that shows no sender nothing is kept.
    follow(followed.namespaces, shownByNamespace, (change) => taker.shows(change, now())),
    ...followKinds(follow, slim, recognisedKinds, (change) => taker.route(change, now())),
  ];
}

/** Follows kinds of other API groups that lead to Services. */
export function followKinds(
  follow: Follow,
  slim: SlimPaths,
  kinds: readonly RouteKind[],
  take: (change: Change<SlimRoute>) => void,
): readonly Source<KubernetesObject>[] {
  return kinds.map((kind) => {
    const read = slim.route(kind);
    // Of one that leads nowhere nothing is kept.
    const slimmed = (route: RouteObject): SlimRoute | undefined => {
      const kept = read(route);
      return kept.services.length === 0 && !kept.isCut ? undefined : kept;
    };
    const quota = slim.quota<SlimRoute>(kind.name, kind.needsNoGrant);
    return follow(kind, slimmed, take, { quota }) as Source<KubernetesObject>;
  });
}

/** The senders that a namespace shows; undefined where it shows none. */
export function shownByNamespace({ metadata }: KubernetesObject): Showing | undefined {
  const senders = sendersOfNamespace({ name: metadata.name, labels: metadata.labels ?? {} });
  return senders.length === 0 ? undefined : { metadata: identityOf(metadata), senders };
}
