import type { KubernetesObject } from "@lameduck/kube";
import { annotationsOf, balancersOf } from "@lameduck/senders";
import { boundedBackends } from "./bounded-cache.ts";
import { keepMetadata, keepRoute, type RouteObject, type ServiceObject } from "./objects.ts";

export interface KeptService extends KubernetesObject {
  readonly isHeadless: boolean;
  /** The proxy of a node chooses pods of this node only, for some of its senders. */
  readonly isLocal: boolean;
  /** Load balancers that send to pods themselves: "load-balancer/aws/shop/web". */
  readonly balancers: readonly string[];
}

export interface KeptRoute extends KubernetesObject {
  readonly kind: string;
  readonly ingressClassName: string | undefined;
  /** As "NAMESPACE/NAME". */
  readonly services: readonly string[];
  readonly gateways: readonly string[];
  /** It leads to more Services, or Gateways, than are kept. */
  readonly isCut: boolean;
}

export interface KeptGateway extends KubernetesObject {
  readonly gatewayClass: string;
}

export interface KeptIngressClass extends KubernetesObject {
  readonly isDefault: boolean;
}

export function keepRoutingService({ metadata, spec }: ServiceObject): KeptService {
  return {
    metadata: keepMetadata(metadata, nothing),
    isHeadless: spec?.clusterIP === "None",
    isLocal: spec?.internalTrafficPolicy === "Local" || spec?.externalTrafficPolicy === "Local",
    balancers: balancersOf(annotationsOf(metadata.annotations)).map(
      (one) => `${one}/${metadata.namespace}/${metadata.name}`,
    ),
  };
}

interface ParentsObject extends RouteObject {
  readonly spec?: NonNullable<RouteObject["spec"]> & {
    readonly parentRefs?: readonly {
      readonly kind?: string;
      readonly namespace?: string;
      readonly name: string;
    }[];
  };
}

const classAnnotation = "kubernetes.io/ingress.class";
/** The Gateway API allows 32. */
const mostGateways = 32;
/** Longer ones are no names of objects. */
const longestName = 253;

export function keepRoutingRoute(kind: string): (route: ParentsObject) => KeptRoute {
  return (route) => {
    const { metadata, spec } = route;
    const { services: all, ingressClassName } = keepRoute(kind)(route);
    const services = boundedBackends(all);
    const gateways = (spec?.parentRefs ?? []).flatMap(({ kind: of = "Gateway", namespace, name }) =>
      of === "Gateway" ? [`${namespace ?? metadata.namespace}/${name}`] : [],
    );
    return {
      metadata: keepMetadata(metadata, nothing),
      kind,
      services,
      ingressClassName: (ingressClassName ?? metadata.annotations?.[classAnnotation])?.slice(0, longestName),
      gateways: gateways.slice(0, mostGateways).map((one) => one.slice(0, 2 * longestName)),
      isCut: services.length < all.length || gateways.length > mostGateways,
    };
  };
}

export function keepGateway({
  metadata,
  spec,
}: KubernetesObject & { readonly spec?: { readonly gatewayClassName?: string } }): KeptGateway {
  return { metadata: keepMetadata(metadata, nothing), gatewayClass: spec?.gatewayClassName ?? "none" };
}

export function keepIngressClass({ metadata }: KubernetesObject): KeptIngressClass {
  const value = metadata.annotations?.["ingressclass.kubernetes.io/is-default-class"];
  return { metadata: keepMetadata(metadata, nothing), isDefault: value === "true" };
}

const nothing = /^$/;
