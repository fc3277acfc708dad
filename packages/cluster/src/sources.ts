import {
  type Change,
  type KubernetesClient,
  type KubernetesObject,
  orUndefined,
  Source,
  type SourceOptions,
} from "@lameduck/kube";
import { apiPath } from "@lameduck/protocol";

/** A list that is followed. */
export interface FollowedKind {
  /** "services": for the log, the metrics and the status. */
  readonly name: string;
  readonly path: string;
  /** Of a kind that may not be installed, or be served in other versions: those that are known, the best one first. */
  readonly versions?: readonly string[];
}

const at = (folder: string, name: string): FollowedKind => ({ name, path: `${folder}/${name}` });

/** The kinds that webhook and coordinator follow, besides those that lead to Services: `routeKinds`. */
export const followed = {
  pods: at("/api/v1", "pods"),
  nodes: at("/api/v1", "nodes"),
  namespaces: at("/api/v1", "namespaces"),
  services: at("/api/v1", "services"),
  endpointSlices: at("/apis/discovery.k8s.io/v1", "endpointslices"),
  ingressClasses: at("/apis/networking.k8s.io/v1", "ingressclasses"),
  gateways: at("/apis/gateway.networking.k8s.io/v1", "gateways"),
  referenceGrants: at("/apis/gateway.networking.k8s.io/v1beta1", "referencegrants"),
  drainPolicies: at(apiPath, "drainpolicies"),
} as const;

export interface SourcesOptions {
  readonly onProblem: (part: string, error: unknown) => void;
  /** Milliseconds until what failed is asked for again. */
  readonly retryMs?: number;
  /** A change has been taken. */
  readonly onTaken?: () => void;
  readonly now?: () => number;
  /** Each list is read once, and not followed. */
  readonly isListOnly?: boolean;
}

interface ApiGroups {
  readonly groups?: readonly {
    readonly name: string;
    readonly versions: readonly { readonly version: string }[];
    readonly preferredVersion?: { readonly version: string };
  }[];
}

/**
 * For so long an answer about all groups of the API counts: one request for all kinds that are looked for. With the pause between two
 * looks (`locateAgainMs`) it is shorter than the 10 s in which a way to a pod counts as young.
 */
const groupsCountMs = 3_000;

/**
 * Finds the path of a kind in a version that is served. One of a group that is not served costs nothing, whether or not it might be read.
 * A version that is not known here is read as the known ones are.
 */
function locating(client: KubernetesClient): (kind: FollowedKind) => Promise<string | undefined> {
  let asked: { readonly at: number; readonly groups: Promise<ApiGroups["groups"]> } | undefined;
  const ask = async (): Promise<ApiGroups["groups"]> =>
    // Who may not ask tries each kind.
    (await orUndefined(client.get<ApiGroups>("/apis"), 401, 403))?.groups;
  return async ({ path, versions = [] }) => {
    if (asked === undefined || performance.now() - asked.at > groupsCountMs)
      asked = { at: performance.now(), groups: ask() };
    const groups = await asked.groups;
    const [, , group = "", , plural = ""] = path.split("/");
    if (groups === undefined) return path;
    const served = groups.find(({ name }) => name === group);
    if (served === undefined) return undefined;
    const isServed = (one: string): boolean => served.versions.some(({ version }) => version === one);
    const version =
      versions.find(isServed) ?? served.preferredVersion?.version ?? served.versions[0]?.version;
    return version === undefined ? undefined : `/apis/${group}/${version}/${plural}`;
  };
}

/** Makes the list and watch of a kind, which keeps of an object what `slim` returns. */
export type Follow = <Slim extends KubernetesObject>(
  kind: FollowedKind,
  slim: (object: never) => Slim | undefined,
  take: (change: Change<Slim>) => void,
  reading?: Pick<SourceOptions<Slim>, "quota" | "renewalSeconds">,
) => Source<Slim>;

export function following(
  client: KubernetesClient,
  { onProblem, retryMs, onTaken, now, isListOnly = false }: SourcesOptions,
): Follow {
  const locate = locating(client);
  return (kind, slim, take, reading = {}) =>
    new Source(client, {
      name: kind.name,
      path: kind.path,
      ...(kind.versions === undefined ? {} : { locate: () => locate(kind) }),
      keep: (object) => slim(object as never),
      onChange: (change) => {
        take(change);
        onTaken?.();
      },
      onProblem,
      isListOnly,
      ...(now === undefined ? {} : { now }),
      ...reading,
      ...(retryMs === undefined ? {} : { againMs: retryMs }),
    });
}
