import {
  leadsToNodes,
  type SeenService,
  type Annotations,
  type Assumed,
  type Sender,
  type SenderKind,
  type ObjectKind,
} from "./kind.ts";
import { fieldsAt, serviceAt } from "./recognising.ts";

const ofServices = "service.beta.kubernetes.io/aws-load-balancer-";
const ofIngresses = "alb.ingress.kubernetes.io/";

/** Network load balancers send to a target that is deregistered for so long, whatever their documentation and the deregistration delay say. */
const nlbSeconds = 120;

const nlb: Sender = {
  name: "AWS NLB (IP targets)",
  label: "NLB",
  seconds: nlbSeconds,
  because:
    "new connections were seen for 2 minutes, whatever the deregistration delay (aws-load-balancer-controller #2366)",
  knownBy: "a Service of type LoadBalancer, its `...nlb-target-type` being `ip` or its `...type` `nlb-ip`",
  replacesNodes: true,
};

export const slowestBalancer: Assumed = {
  seconds: nlbSeconds,
  because: "no figure is published: as the slowest that is known, an NLB of AWS",
};

const alb: Sender = {
  name: "AWS ALB (IP targets)",
  label: "ALB",
  seconds: 40,
  because: "25 to 40 s were seen (aws-load-balancer-controller #1064, #2106)",
  knownBy: "an Ingress of class `alb`, its `...target-type` being `ip`",
};

/** By the protocol of a target group: who sends to its targets, and for how long yet after `draining` has begun. */
export function awsBalancerOf(
  protocol: unknown,
): { readonly name: string; readonly sendsOnSeconds: number } | undefined {
  if (protocol === "HTTP" || protocol === "HTTPS") return { name: alb.label, sendsOnSeconds: 0 };
  const isNetwork = ["TCP", "TLS", "UDP", "TCP_UDP", "QUIC", "TCP_QUIC"].some((one) => one === protocol);
  return isNetwork ? { name: nlb.label, sendsOnSeconds: nlbSeconds } : undefined;
}

const hasPodTargets = (annotations: Annotations): boolean =>
  annotations.get(`${ofServices}nlb-target-type`) === "ip" ||
  annotations.get(`${ofServices}type`) === "nlb-ip";

/** EKS Auto Mode sends to pods unless it is told otherwise. */
const sendsToPods = ({ annotations, loadBalancerClass }: SeenService): boolean =>
  hasPodTargets(annotations) ||
  (loadBalancerClass === "eks.amazonaws.com/nlb" &&
    annotations.get(`${ofServices}nlb-target-type`) !== "instance");

/** The controller labels its bindings by what it made them for; whoever makes one by hand need not say. */
function balancerOf(labels: Readonly<Record<string, string>> = {}): Sender {
  return Object.keys(labels).some((name) => name.startsWith("ingress.k8s.aws/stack")) ? alb : nlb;
}

/** The controller makes one for each target group. Those of instances are nodes. */
const bindings = (group: string, versions: readonly string[]): ObjectKind => ({
  group,
  versions,
  kind: "TargetGroupBinding",
  plural: "targetgroupbindings",
  read: ({ metadata: { namespace, labels }, spec }) => {
    const { targetType } = (spec ?? {}) as { readonly targetType?: unknown };
    const services =
      targetType === "instance"
        ? []
        : fieldsAt(spec, "serviceRef").flatMap(({ name }) => serviceAt(namespace, name));
    return {
      services,
      by: services.map((service) => `load-balancer/aws/${service}`),
      converges: balancerOf(labels),
    };
  },
});

export const aws = {
  name: "aws",
  serves: "service",
  consumer: {
    usage: "aws=TARGET-GROUP-ARN",
    help: "addresses as targets; needs @aws-sdk/client-elastic-load-balancing-v2",
    reads: [
      {
        what: "`DescribeTargetHealth` for a target group of an ALB",
        letGoWhen: "it is not registered any more, or `draining`",
      },
      {
        what: "the same of an NLB",
        letGoWhen: `it has been so for ${nlbSeconds} s (aws-load-balancer-controller #2366)`,
        basis: "evidence",
      },
    ],
  },
  seen: [nlb, alb],
  ofService: ({ type, annotations }) =>
    type === "LoadBalancer" && hasPodTargets(annotations) ? nlb : undefined,
  ofRoute: ({ annotations }, _, isOwn) => {
    if (!isOwn) return undefined;
    return annotations.get(`${ofIngresses}target-type`) === "ip" ? alb : leadsToNodes;
  },
  routeAnnotations: [`${ofIngresses}target-type`],
  mayTarget: sendsToPods,
  programs: [
    {
      who: "AWS's load balancers",
      classes: [
        "ingress.k8s.aws/",
        "eks.amazonaws.com/alb",
        "gateway.k8s.aws/",
        "application-networking.k8s.aws/",
      ],
      names: /^alb$/,
      keepsIdle: {
        name: "AWS ALB",
        seconds: 60,
        defaultOf: "AWS ALB (idle_timeout)",
        annotation: [`${ofIngresses}load-balancer-attributes`, /idle_timeout\.timeout_seconds=(\d+)/],
      },
    },
  ],
  recognised: [
    {
      need: "load-balancer/aws",
      who: "a load balancer of AWS with pods as targets",
      reader: "aws",
      converges: nlb,
      source:
        "kubernetes-sigs/aws-load-balancer-controller: apis/elbv2/v1beta1, pkg/deploy/tracking/provider.go",
      knownBy: "only bindings whose targets are no instances",
      objects: [bindings("elbv2.k8s.aws", ["v1beta1"]), bindings("eks.amazonaws.com", ["v1"])],
    },
  ],
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
      forwarder: {
        kind: "delay",
        delay: { uniform: [(nlbSeconds - 10) * 1_000, (nlbSeconds + 10) * 1_000] },
      },
    },
  },
} as const satisfies SenderKind;
