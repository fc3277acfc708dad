import type { Field } from "@lameduck/manifests";
import { assumed, fromField, isAssumed, type Amount } from "../model/amount.ts";
import { annotationOf, type KubeObject } from "../model/object.ts";
import type { Workload } from "../model/workload.ts";
import { factOf, type Facts } from "./facts.ts";

/** A sender of requests, and how long it may go on choosing a pod that is deleted. */
export interface Sender {
  readonly name: string;
  /** What made it known. */
  readonly object: KubeObject;
  readonly convergence: Amount;
  /** How the number comes about, where it is a sum. */
  readonly sum?: string;
}

const aws = "service.beta.kubernetes.io/aws-load-balancer-";
const alb = "alb.ingress.kubernetes.io/";

/** The slowest of them decides how long a deleted pod must go on serving. */
export function sendersOf({ services, routes }: Pick<Workload, "services" | "routes">): readonly Sender[] {
  // Once for all routes: a namespace may have thousands of both.
  const haveNeg = routes.length > 0 && services.some((service) => hasNeg(service));
  return [
    ...services.flatMap((service) => ofService(service)),
    ...routes.flatMap((route) => ofRoute(route, haveNeg)),
  ];
}

/** How long the slowest sender takes: the user's answer, else the slowest preset. */
export function convergenceOf(
  workload: Workload,
  facts: Facts,
): { readonly amount: Amount; readonly sender?: Sender } | undefined {
  const given = factOf(workload, "convergence", facts);
  if (given) return { amount: given };
  const senders = sendersOf(workload);
  if (senders.length === 0) return undefined;
  const sender = senders.reduce((a, b) => (b.convergence.value > a.convergence.value ? b : a));
  return { amount: sender.convergence, sender };
}

function ofService(object: KubeObject): Sender[] {
  const spec = object.field.at("spec");
  const senders: Sender[] = [];
  const add = (name: string, convergence: Amount, sum?: string): void =>
    void senders.push({ name, object, convergence, ...(sum === undefined ? {} : { sum }) });
  if (spec.at("clusterIP").text() === "None")
    add(
      "clients that resolve the headless Service",
      assumed(
        "DNS",
        30,
        "the TTL of 30 s that kubeadm's CoreDNS gives; clients may keep addresses for longer",
      ),
    );
  else add("kube-proxy", assumed("kube-proxy", 10, "iptables takes 1 to 10 s on a busy node"));
  if (hasNeg(object))
    add("GKE load balancer (NEG)", assumed("NEG", 60, "15 to 60 s were seen (ingress-gce #1718, #2222)"));
  if (spec.at("type").text() !== "LoadBalancer") return senders;
  const targets = annotationOf(object.field, `${aws}nlb-target-type`);
  const isNlb = annotationOf(object.field, `${aws}type`).exists || targets.exists;
  if (isNlb && (targets.text() === "ip" || annotationOf(object.field, `${aws}type`).text() === "nlb-ip")) {
    add(
      "AWS NLB (IP targets)",
      assumed(
        "NLB",
        120,
        "new connections were seen for 2 minutes, whatever the deregistration delay (aws-load-balancer-controller #2366)",
      ),
    );
    return senders;
  }
  // Nodes are the targets: they leave the load balancer only where the last pod of a node counts.
  if (spec.at("externalTrafficPolicy").text() !== "Local") return senders;
  const { amount, sum } = detection(object.field);
  add("a cloud load balancer that checks the node's health", amount, sum);
  return senders;
}

/** How long a cloud's load balancer takes to notice that a node of the Service has, or no longer has, a pod. */
export function nodeCheckOf(service: Field): Amount {
  return detection(service).amount;
}

/** `{"ingress": false}` says that there is none. */
function hasNeg({ field }: KubeObject): boolean {
  return /"ingress"\s*:\s*true|"exposed_ports"/.test(
    annotationOf(field, "cloud.google.com/neg").text() ?? "",
  );
}

function annotationsOf(field: Field): (readonly [string, Field])[] {
  return field.at("metadata").at("annotations").entries();
}

/** interval x threshold + timeout, as the Service says, else as the provider's default. */
function detection(service: Field): { readonly amount: Amount; readonly sum: string } {
  const read = (keys: readonly string[], otherwise: number): { value: number; field?: Field } => {
    for (const key of keys) {
      const field = annotationOf(service, key);
      const value = Number(field.text());
      if (field.exists && Number.isFinite(value)) return { value, field };
    }
    return { value: otherwise };
  };
  const isAws = annotationsOf(service).some(([key]) => key.startsWith(aws));
  const azure = "service.beta.kubernetes.io/azure-load-balancer-health-probe-";
  const interval = read([`${aws}healthcheck-interval`, `${azure}interval`], isAws ? 10 : 5);
  const threshold = read([`${aws}healthcheck-unhealthy-threshold`, `${azure}num-of-probe`], isAws ? 3 : 2);
  const timeout = read([`${aws}healthcheck-timeout`], isAws ? 10 : 5);
  const value = interval.value * threshold.value + timeout.value;
  const sum = `${interval.value} interval x ${threshold.value} failures + ${timeout.value} timeout`;
  const said = interval.field ?? threshold.field ?? timeout.field;
  return {
    amount: said
      ? fromField("health checks", value, said)
      : assumed(
          "health checks",
          value,
          `${sum}, the usual defaults of ${isAws ? "AWS" : "cloud load balancers"}`,
        ),
    sum,
  };
}

function ofRoute(object: KubeObject, haveNeg: boolean): Sender[] {
  const { kind, field } = object;
  const add = (name: string, convergence: Amount): Sender[] => [{ name, object, convergence }];
  if (kind !== "Ingress")
    return add("gateway", assumed("gateway", 10, "proxies that watch endpoints take 3 to 10 s"));
  const className =
    field.at("spec").at("ingressClassName").text() ??
    annotationOf(field, "kubernetes.io/ingress.class").text() ??
    "";
  if (className === "alb") {
    const targets = annotationOf(field, `${alb}target-type`).text() ?? "instance";
    // Node ports behind it are kube-proxy's to follow.
    if (targets !== "ip") return [];
    return add(
      "AWS ALB (IP targets)",
      assumed("ALB", 40, "25 to 40 s were seen (aws-load-balancer-controller #1064, #2106)"),
    );
  }
  if (className.startsWith("gce") || haveNeg)
    return add(
      "GKE load balancer (NEG)",
      assumed("NEG", 60, "15 to 60 s were seen (ingress-gce #1718, #2222)"),
    );
  if (className.startsWith("azure"))
    return add(
      "Azure Application Gateway",
      assumed("AGIC", 30, "the controller pushes a new pool, some 30 s"),
    );
  return add(
    className === "" ? "ingress proxy" : `ingress proxy (${className})`,
    assumed("ingress", 10, "a proxy that watches endpoints takes 3 to 10 s"),
  );
}

export { isAssumed };
