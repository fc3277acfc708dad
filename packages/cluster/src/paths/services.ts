import type { KubernetesObject } from "@lameduck/kube";

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
  const annotations = metadata.annotations ?? {};
  const aws = "service.beta.kubernetes.io/aws-load-balancer";
  const balancers: string[] = [];
  if (annotations[`${aws}-nlb-target-type`] === "ip" || annotations[`${aws}-type`] === "nlb-ip")
    balancers.push("aws");
  if (annotations["cloud.google.com/neg"] !== undefined) balancers.push("gcp");
  return balancers.map((kind) => `load-balancer/${kind}/${metadata.namespace}/${metadata.name}`);
}
