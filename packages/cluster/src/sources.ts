import {
  type Change,
  type KubernetesClient,
  type KubernetesObject,
  Source,
  type SourceOptions,
} from "@lameduck/kube";
import { apiPath } from "@lameduck/protocol";

/** A list that is followed. */
export interface FollowedKind {
  /** "services": for the log, the metrics and the status. */
  readonly name: string;
  readonly path: string;
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
}

/** Makes the list and watch of a kind, which keeps of an object what `slim` returns. */
export type Follow = <Slim extends KubernetesObject>(
  kind: FollowedKind,
  slim: (object: never) => Slim | undefined,
  take: (change: Change<Slim>) => void,
  reading?: Pick<SourceOptions<Slim>, "quota" | "renewalSeconds" | "onHeard">,
) => Source<Slim>;

export function following(client: KubernetesClient, { onProblem, retryMs }: SourcesOptions): Follow {
  return ({ name, path }, slim, take, reading = {}) =>
    new Source(client, {
      name,
      path,
      keep: (object) => slim(object as never),
      onChange: take,
      onProblem,
      ...reading,
      ...(retryMs === undefined ? {} : { againMs: retryMs }),
    });
}
