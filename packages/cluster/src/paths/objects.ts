import type { KubernetesObject, ObjectMeta } from "@lameduck/kube";
import { apiVersion } from "@lameduck/protocol";

/** What is kept of each kind: enough for one question, whatever else stands in the object. */
export interface ServiceObject extends KubernetesObject {
  readonly spec?: {
    readonly selector?: Readonly<Record<string, string>>;
    readonly type?: string;
    readonly clusterIP?: string;
    readonly externalTrafficPolicy?: string;
    readonly internalTrafficPolicy?: string;
  };
}

interface Backend {
  readonly name?: string;
  readonly namespace?: string;
  readonly kind?: string;
  readonly service?: { readonly name?: string };
}

/** An Ingress or a route of a Gateway. */
export interface RouteObject extends KubernetesObject {
  readonly kind?: string;
  readonly spec?: {
    readonly ingressClassName?: string;
    readonly defaultBackend?: Backend;
    readonly rules?: readonly {
      readonly http?: { readonly paths?: readonly { readonly backend?: Backend }[] };
      readonly backendRefs?: readonly Backend[];
    }[];
  };
}

/** With the Services it leads to, as "NAMESPACE/NAME". */
export interface KeptRoute extends KubernetesObject {
  readonly kind: string;
  readonly ingressClassName: string | undefined;
  readonly services: readonly string[];
}

/** Routes of the Gateway API that may lead to pods, in all versions that installations serve: old ones lack the newer, and newer ones the old. */
export const gatewayRoutes = (
  [
    ["HTTPRoute", "v1"],
    ["GRPCRoute", "v1"],
    ["TLSRoute", "v1alpha2"],
    ["TLSRoute", "v1"],
    ["TCPRoute", "v1alpha2"],
    ["UDPRoute", "v1alpha2"],
  ] as const
).map(([kind, version]) => {
  const name = `${kind.toLowerCase()}s`;
  return {
    kind,
    name: `${name} (${version})`,
    path: `/apis/gateway.networking.k8s.io/${version}/${name}`,
    version,
  };
});

/** A route that is served in two versions is known by both: when one of them is served no more, the other still counts. */
export function inVersion<T extends KubernetesObject>(version: string, route: T): T {
  const { metadata } = route;
  return { ...route, metadata: { ...metadata, uid: `${metadata.uid}/${version}` } };
}

/** Lets routes of other namespaces lead to Services of its own. */
export interface GrantObject extends KubernetesObject {
  readonly spec?: {
    readonly from?: readonly { readonly kind?: string; readonly namespace?: string }[];
    readonly to?: readonly { readonly kind?: string; readonly name?: string }[];
  };
}

export interface PolicyObject extends KubernetesObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly spec?: unknown;
  readonly status?: unknown;
}

export function keepRoute(kind: string): (route: RouteObject) => KeptRoute {
  return ({ metadata, spec = {} }) => {
    const { rules = [], defaultBackend, ingressClassName } = spec;
    const backends = [
      ...(defaultBackend ? [defaultBackend] : []),
      ...rules.flatMap(({ http, backendRefs = [] }) => [
        ...(http?.paths ?? []).flatMap(({ backend }) => (backend ? [backend] : [])),
        ...backendRefs,
      ]),
    ];
    const services = backends.flatMap((backend) => {
      const name = backend.service?.name ?? backend.name;
      const isService = backend.service !== undefined || (backend.kind ?? "Service") === "Service";
      return name === undefined || !isService ? [] : [`${backend.namespace ?? metadata.namespace}/${name}`];
    });
    return {
      metadata,
      kind,
      ingressClassName,
      services: [...new Set(services)],
    };
  };
}

export function keepPolicy({ metadata, spec, status }: PolicyObject): PolicyObject {
  return {
    apiVersion,
    kind: "DrainPolicy",
    metadata: {
      ...keepMetadata(metadata, nothing),
      ...(metadata.generation === undefined ? {} : { generation: metadata.generation }),
    },
    // The API server keeps no more of it than the schema has.
    spec,
    status: { conditions: ownConditions(status) },
  };
}

/** Whoever may write the status may add conditions without end. */
function ownConditions(status: unknown): readonly unknown[] {
  const { conditions } = (status ?? {}) as { readonly conditions?: unknown };
  const all: readonly unknown[] = Array.isArray(conditions) ? conditions : [];
  const typeOf = (one: unknown): unknown => (one as { readonly type?: unknown } | null)?.type;
  return ["Accepted", "LosesRequests"].flatMap((type) => all.find((one) => typeOf(one) === type) ?? []);
}

/** Of namespaces and nodes one label counts. */
export function keepLabel(label: string): (object: KubernetesObject) => KubernetesObject {
  return ({ metadata }) => {
    const { labels: { [label]: value } = {}, ...rest } = keepMetadata(metadata);
    return { metadata: { ...rest, ...(value === undefined ? {} : { labels: { [label]: value } }) } };
  };
}

/** No annotation, and no label either. */
const nothing = /(?!)/;

/** Without `managedFields`, which are the greater part of most objects. */
export function keepMetadata(metadata: ObjectMeta, annotations?: RegExp): ObjectMeta {
  const { name, namespace, uid, resourceVersion, labels } = metadata;
  const kept = Object.entries(metadata.annotations ?? {}).filter(([key]) => annotations?.test(key));
  return {
    name,
    uid,
    ...(namespace === undefined ? {} : { namespace }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(labels === undefined || annotations !== undefined ? {} : { labels }),
    ...(kept.length === 0 ? {} : { annotations: Object.fromEntries(kept) }),
  };
}
