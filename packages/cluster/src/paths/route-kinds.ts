import type { KubernetesObject } from "@lameduck/kube";
import type { FollowedKind } from "../sources.ts";

interface Backend {
  readonly name?: string;
  readonly namespace?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly service?: { readonly name?: string };
}

/** An object that leads to Services, of any kind below. */
export interface RouteObject extends KubernetesObject {
  readonly spec?: {
    readonly ingressClassName?: string;
    readonly defaultBackend?: Backend;
    readonly parentRefs?: readonly {
      readonly group?: string;
      readonly kind?: string;
      readonly namespace?: string;
      readonly name: string;
    }[];
    readonly rules?: readonly {
      readonly http?: { readonly paths?: readonly { readonly backend?: Backend }[] };
      readonly backendRefs?: readonly Backend[];
    }[];
  };
}

/** What a route says: where it leads, and who sends by it. */
export interface RouteFacts {
  /** As "NAMESPACE/NAME". */
  readonly services: readonly string[];
  /** What a consumer reports to serve, "ingress-class/nginx"; or the Gateway that tells it, or the default class. */
  readonly through: readonly string[];
}

export interface RouteKind extends FollowedKind {
  readonly kind: string;
  /** Every cluster has it. Others must be installed. */
  readonly isBuiltIn: boolean;
  /** Of a kind that is served in several. */
  readonly version?: string;
  readonly read: (route: RouteObject) => RouteFacts;
}

/** The class of an Ingress that names none: the cluster's default one. */
export const byDefaultClass = "the default ingress class";
/** "gateway/NAMESPACE/NAME": who sends is told by the Gateway's class. */
export const byGateway = "gateway/";

/** Other groups may have kinds of the same name. */
export const gatewayGroup = "gateway.networking.k8s.io";
/** Longer ones are no names of objects. */
const longestName = 253;
const classAnnotation = "kubernetes.io/ingress.class";

function readIngress({ metadata, spec = {} }: RouteObject): RouteFacts {
  const { rules = [], defaultBackend, ingressClassName } = spec;
  const backends = [
    defaultBackend,
    ...rules.flatMap(({ http }) => http?.paths ?? []).map((path) => path.backend),
  ];
  const className = (ingressClassName ?? metadata.annotations?.[classAnnotation])?.slice(0, longestName);
  return {
    services: backends.flatMap((backend) => {
      const name = backend?.service?.name;
      return name === undefined ? [] : [`${metadata.namespace}/${name}`];
    }),
    through: [className === undefined ? byDefaultClass : `ingress-class/${className}`],
  };
}

function readGatewayRoute({ metadata, spec = {} }: RouteObject): RouteFacts {
  const { rules = [], parentRefs = [] } = spec;
  const at = (namespace: string | undefined, name: string): string =>
    `${namespace ?? metadata.namespace}/${name}`;
  return {
    services: rules
      .flatMap(({ backendRefs = [] }) => backendRefs)
      .filter(isService)
      .flatMap(({ namespace, name }) => (name === undefined ? [] : [at(namespace, name)])),
    // A Gateway of another group, too: nobody reports for it, and a pod is not released meanwhile.
    through: parentRefs.flatMap(({ kind = "Gateway", namespace, name }) =>
      kind === "Gateway" ? [byGateway + at(namespace, name).slice(0, 2 * longestName)] : [],
    ),
  };
}

/** Whether a route or a ReferenceGrant means a Service; it need not say so. */
export function isService({ group = "", kind = "Service" }: Pick<Backend, "group" | "kind">): boolean {
  return group === "" && kind === "Service";
}

/** Installations of the Gateway API serve several versions: old ones lack the newer, and newer ones the old. */
function gatewayRoute(kind: string, version: string): RouteKind {
  const name = `${kind.toLowerCase()}s`;
  return {
    kind,
    name: `${name} (${version})`,
    path: `/apis/${gatewayGroup}/${version}/${name}`,
    isBuiltIn: false,
    version,
    read: readGatewayRoute,
  };
}

/** Every kind of object that may lead to a Service. A new kind is one entry. */
export const routeKinds: readonly RouteKind[] = [
  {
    kind: "Ingress",
    name: "ingresses",
    path: "/apis/networking.k8s.io/v1/ingresses",
    isBuiltIn: true,
    read: readIngress,
  },
  gatewayRoute("HTTPRoute", "v1"),
  gatewayRoute("GRPCRoute", "v1"),
  gatewayRoute("TLSRoute", "v1alpha2"),
  gatewayRoute("TLSRoute", "v1"),
  gatewayRoute("TCPRoute", "v1alpha2"),
  gatewayRoute("UDPRoute", "v1alpha2"),
];
