import type { Field } from "@lameduck/manifests";
import { assumed, type Amount } from "../model/amount.ts";
import { annotationOf, type KubeObject } from "../model/object.ts";
import type { Workload } from "../model/workload.ts";

const alb = "alb.ingress.kubernetes.io/";
const nlb = "service.beta.kubernetes.io/aws-load-balancer-";

/** How long a load balancer that checks pods itself needs until it sends something to a new one; undefined where none is known to. */
export function healthyAfter(workload: Workload, objects: readonly KubeObject[]): Amount | undefined {
  if (workload.pod.at("readinessGates").exists || hasGates(workload, objects)) return undefined;
  for (const { field } of workload.routes)
    if (annotationOf(field, `${alb}target-type`).text() === "ip")
      return product(
        "AWS ALB's health checks",
        field,
        `${alb}healthcheck-interval-seconds`,
        15,
        `${alb}healthy-threshold-count`,
        2,
      );
  for (const { field } of workload.services)
    if (annotationOf(field, `${nlb}nlb-target-type`).text() === "ip")
      return product(
        "AWS NLB's health checks",
        field,
        `${nlb}healthcheck-interval`,
        10,
        `${nlb}healthcheck-healthy-threshold`,
        3,
      );
  return undefined;
}

/** The controller of AWS adds readiness gates to the pods of a namespace with its label. */
function hasGates({ object }: Workload, objects: readonly KubeObject[]): boolean {
  return objects.some(
    ({ type, name, field }) =>
      type === "/Namespace" &&
      name === object.namespace &&
      field.at("metadata").at("labels").at("elbv2.k8s.aws/pod-readiness-gate-inject").text() === "enabled",
  );
}

function product(
  name: string,
  field: Field,
  interval: string,
  every: number,
  threshold: string,
  times: number,
): Amount {
  const read = (key: string, otherwise: number): number => {
    const value = Number(annotationOf(field, key).text());
    return Number.isFinite(value) && value > 0 ? value : otherwise;
  };
  const [seconds, count] = [read(interval, every), read(threshold, times)];
  return assumed(
    name,
    seconds * count,
    `${seconds} interval x ${count} successes, by annotation or the controller's default`,
  );
}
