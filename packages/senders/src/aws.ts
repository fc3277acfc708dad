import { classOf, isIngress, leadsToNodes, type Annotations, type Sender, type SenderKind } from "./kind.ts";

const ofServices = "service.beta.kubernetes.io/aws-load-balancer-";
const ofIngresses = "alb.ingress.kubernetes.io/";

const nlb: Sender = {
  name: "AWS NLB (IP targets)",
  label: "NLB",
  seconds: 120,
  because:
    "new connections were seen for 2 minutes, whatever the deregistration delay (aws-load-balancer-controller #2366)",
  knownBy: "a Service of type LoadBalancer, its `...nlb-target-type` being `ip` or its `...type` `nlb-ip`",
  replacesNodes: true,
};

const alb: Sender = {
  name: "AWS ALB (IP targets)",
  label: "ALB",
  seconds: 40,
  because: "25 to 40 s were seen (aws-load-balancer-controller #1064, #2106)",
  knownBy: "an Ingress of class `alb`, its `...target-type` being `ip`",
};

const hasPodTargets = (annotations: Annotations): boolean =>
  annotations.get(`${ofServices}nlb-target-type`) === "ip" ||
  annotations.get(`${ofServices}type`) === "nlb-ip";

export const aws = {
  name: "aws",
  serves: "service",
  consumer: {
    usage: "aws=TARGET-GROUP-ARN",
    help: "addresses as targets; needs @aws-sdk/client-elastic-load-balancing-v2",
    reads: [
      {
        what: "`DescribeTargetHealth`",
        letGoWhen: "it is not registered any more, or `draining`",
      },
    ],
  },
  seen: [nlb, alb],
  ofService: ({ type, annotations }) =>
    type === "LoadBalancer" && hasPodTargets(annotations) ? nlb : undefined,
  ofRoute: (route) => {
    if (!isIngress(route) || classOf(route) !== "alb") return undefined;
    return route.annotations.get(`${ofIngresses}target-type`) === "ip" ? alb : leadsToNodes;
  },
  mayTarget: hasPodTargets,
  nodeChecks: {
    interval: `${ofServices}healthcheck-interval`,
    threshold: `${ofServices}healthcheck-unhealthy-threshold`,
    timeout: `${ofServices}healthcheck-timeout`,
    defaults: { prefix: ofServices, of: "AWS", interval: 10, threshold: 3, timeout: 10 },
  },
  podChecks: {
    gateLabel: ["elbv2.k8s.aws/pod-readiness-gate-inject", "enabled"],
    checks: [
      {
        name: "AWS ALB's health checks",
        on: "routes",
        when: [`${ofIngresses}target-type`, "ip"],
        interval: [`${ofIngresses}healthcheck-interval-seconds`, 15],
        successes: [`${ofIngresses}healthy-threshold-count`, 2],
      },
      {
        name: "AWS NLB's health checks",
        on: "services",
        when: [`${ofServices}nlb-target-type`, "ip"],
        interval: [`${ofServices}healthcheck-interval`, 10],
        successes: [`${ofServices}healthcheck-healthy-threshold`, 3],
      },
    ],
  },
  closesAfter: {
    annotations: [`${ofIngresses}target-group-attributes`, `${ofServices}target-group-attributes`],
    seconds: /deregistration_delay\.timeout_seconds=(\d+)/,
  },
  presets: {
    alb: {
      summary: "AWS Application Load Balancer, IP targets",
      source: "aws-load-balancer-controller issue 1064: 5 s not enough, 25 s enough",
      forwarder: { kind: "delay", delay: { uniform: [5_000, 25_000] } },
    },
    nlb: {
      summary: "AWS Network Load Balancer, IP targets",
      source: "aws-load-balancer-controller issues 2366 and 3270: new connections for about 2 minutes",
      forwarder: { kind: "delay", delay: { uniform: [110_000, 130_000] } },
    },
  },
} as const satisfies SenderKind;
