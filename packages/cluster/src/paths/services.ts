import type { KubernetesObject } from "@lameduck/kube";
import { annotationsOf, balancersOf, type NamedPort, needsOfService } from "@lameduck/senders";

export interface ServiceObject extends KubernetesObject {
  readonly spec?: {
    readonly selector?: Readonly<Record<string, string>>;
    readonly type?: string;
    readonly clusterIP?: string;
    readonly externalTrafficPolicy?: string;
    readonly internalTrafficPolicy?: string;
    readonly loadBalancerClass?: string;
    readonly allocateLoadBalancerNodePorts?: boolean;
    readonly ports?: readonly NamedPort[] | null;
  };
}

/** Who sends to its pods besides nodes, as the Service itself shows: "load-balancer/aws/shop/web", "other-clusters/cilium". */
export function needsOf({ metadata, spec = {} }: ServiceObject): readonly string[] {
  const { type, clusterIP, externalTrafficPolicy, loadBalancerClass, allocateLoadBalancerNodePorts } = spec;
  const annotations = annotationsOf(metadata.annotations);
  const { labels } = metadata;
  const seen = {
    annotations,
    labels,
    type,
    clusterIP,
    externalTrafficPolicy,
    loadBalancerClass,
    allocateLoadBalancerNodePorts,
  };
  return [
    ...balancersOf(seen).map((one) => `${one}/${metadata.namespace}/${metadata.name}`),
    ...needsOfService(seen),
  ];
}
