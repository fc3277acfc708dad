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
export function balancersOf({ metadata }: ServiceObject): readonly string[] {
  const kinds = kindsOfBalancers(annotationsOf(metadata.annotations));
  return kinds.map((one) => `${one}/${metadata.namespace}/${metadata.name}`);
}
