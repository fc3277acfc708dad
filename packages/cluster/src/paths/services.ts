import type { KubernetesObject } from "@lameduck/kube";
import { annotationsOf, balancersOf as kindsOfBalancers } from "@lameduck/senders";

export interface ServiceObject extends KubernetesObject {
  readonly spec?: {
    readonly selector?: Readonly<Record<string, string>>;
    readonly type?: string;
    readonly clusterIP?: string;
    readonly externalTrafficPolicy?: string;
    readonly internalTrafficPolicy?: string;
  };
}

/** Load balancers that send to the pods of a Service themselves: "load-balancer/aws/shop/web". */
export function balancersOf({ metadata, spec = {} }: ServiceObject): readonly string[] {
  const { type, clusterIP, externalTrafficPolicy } = spec;
  const annotations = annotationsOf(metadata.annotations);
  const kinds = kindsOfBalancers({ annotations, type, clusterIP, externalTrafficPolicy });
  return kinds.map((one) => `${one}/${metadata.namespace}/${metadata.name}`);
}
