import type { KubernetesObject } from "@lameduck/kube";
import {
  classesOf,
  everyServiceIn,
  isNodeNeed,
  namedByAnnotations,
  objectKinds,
  whoIs,
} from "@lameduck/senders";
import type { FollowedKind } from "../sources.ts";
import { type Convergence, convergenceOfSender } from "./convergence.ts";

interface Backend {
  readonly name?: string;
  readonly namespace?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly service?: { readonly name?: string };
  readonly filters?: readonly Filter[];
}

/** It may send a copy of each request to another Service. */
interface Filter {
  readonly requestMirror?: { readonly backendRef?: Backend };
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
      readonly filters?: readonly Filter[];
    }[];
  };
}

/** What a route says: where it leads, and who sends by it. */
export interface RouteFacts {
  /** As "NAMESPACE/NAME". */
  readonly services: readonly string[];
  /** What a consumer reports to serve, "ingress-class/nginx"; or the Gateway that tells it, or the default class. */
  readonly through: readonly string[];
  /** Of kinds whose class does not tell it. */
  readonly convergence?: Convergence | undefined;
}

export interface RouteKind extends FollowedKind {
  readonly kind: string;
  /** Every cluster has it. Others must be installed. */
  readonly isBuiltIn: boolean;
  /** Of a kind that is served in several, all of which are followed. */
  readonly version?: string;
  /** It leads to Services as kube-proxy does: it exposes none. */
  readonly isOfNodes?: boolean;
  /** Whether it may lead to other namespaces is a matter of its own rules, and in doubt it does. */
  readonly needsNoGrant?: boolean;
  readonly read: (route: RouteObject) => RouteFacts;
}

/** The class of an Ingress that names none: the cluster's default one. */
export const byDefaultClass = "the default ingress class";
/** "gateway/NAMESPACE/NAME": who sends is told by the Gateway's class. */
export const byGateway = "gateway/";
/** The route is one of a mesh. */
const byMesh = "mesh/service-routes";
/** Who chooses among the pods of a pool, for the Gateway. */
const byPicker = "proxy/endpoint-picker";
/** What stands between a Gateway and its routes, such as a ListenerSet: its class is not known here. */
const byUnknown = "gateway-class/unknown/";

/** Other groups may have kinds of the same name. */
export const gatewayGroup = "gateway.networking.k8s.io";
/** Longer ones are no names of objects. */
const longestName = 253;

function readIngress({ metadata, spec = {} }: RouteObject): RouteFacts {
  const { rules = [], defaultBackend } = spec;
  const backends = [
    defaultBackend,
    ...rules.flatMap(({ http }) => http?.paths ?? []).map((path) => path.backend),
  ];
  const through = classesOf({ metadata, spec });
  return {
    services: [
      ...backends.flatMap((backend) => backend?.service?.name ?? []),
      ...namedByAnnotations(metadata.annotations ?? {}),
    ].map((name) => `${metadata.namespace}/${name}`),
    through: through.length === 0 ? [byDefaultClass] : through,
  };
}

function readGatewayRoute({ metadata, spec = {} }: RouteObject): RouteFacts {
  const { rules = [], parentRefs = [] } = spec;
  const at = (namespace: string | undefined, name: string): string =>
    `${namespace ?? metadata.namespace}/${name}`;
  const backends = rules.flatMap(({ backendRefs = [], filters = [] }) => [
    ...backendRefs,
    ...[...filters, ...backendRefs.flatMap((backend) => backend.filters ?? [])].flatMap(
      ({ requestMirror }) => requestMirror?.backendRef ?? [],
    ),
  ]);
  return {
    services: backends.flatMap((backend) => {
      const { namespace, name } = backend;
      if (isPool(backend)) return [everyServiceIn(namespace ?? metadata.namespace ?? "")];
      return name === undefined || !isService(backend) ? [] : [at(namespace, name)];
    }),
    through: [
      ...(backends.some(isPool) ? [byPicker] : []),
      // A Gateway of another group, too: nobody reports for it, and a pod is not released meanwhile.
      ...parentRefs.map(({ kind = "Gateway", namespace, name }) => {
        const parent = at(namespace, name).slice(0, 2 * longestName);
        if (kind === "Gateway") return byGateway + parent;
        return kind === "Service" ? byMesh : `${byUnknown}${kind.slice(0, longestName)}/${parent}`;
      }),
    ],
  };
}

/** A pool of the Inference Extension: it chooses pods of its namespace by their labels, not by a Service. */
function isPool({ group = "", kind }: Pick<Backend, "group" | "kind">): boolean {
  return kind === "InferencePool" && /^inference\.networking\.(?:x-)?k8s\.io$/.test(group);
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
  gatewayRoute("TCPRoute", "v1"),
  gatewayRoute("UDPRoute", "v1alpha2"),
  gatewayRoute("UDPRoute", "v1"),
];

/** Kinds of other API groups that lead to Services, as the entries of senders say. */
export const recognisedKinds: readonly RouteKind[] = objectKinds.map(
  ({ group, versions, kind, plural, read, need, converges: usual }) => ({
    kind,
    name: `${plural}.${group}`,
    path: `/apis/${group}/${versions[0]}/${plural}`,
    versions,
    isBuiltIn: false,
    needsNoGrant: true,
    isOfNodes: isNodeNeed(need),
    read: (object) => {
      const { services, by = [need], converges = usual } = read(object);
      const convergence = convergenceOfSender(whoIs(need) ?? kind, converges);
      return { services, through: by, convergence };
    },
  }),
);

/** Those of them by which somebody sends who is no proxy of nodes. */
export const exposingKinds: readonly RouteKind[] = recognisedKinds.filter(({ isOfNodes }) => !isOfNodes);
