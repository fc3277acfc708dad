import assert from "node:assert/strict";
import test from "node:test";
import {
  annotationsOf,
  balancersOf,
  isNodeProxy,
  isServed,
  kinds,
  nodeCheckOf,
  presets,
  programOfRoute,
  type SeenClass,
  senderOfRoute,
  sendersOfService,
  withClass,
} from "../src/index.ts";

const aws = "service.beta.kubernetes.io/aws-load-balancer-";
const azure = "service.beta.kubernetes.io/azure-load-balancer-health-probe-";
const neg = { "cloud.google.com/neg": '{"ingress": true}' };
const targets = { [`${aws}nlb-target-type`]: "ip" };
const local = { type: "LoadBalancer", externalTrafficPolicy: "Local" };

interface Spec {
  readonly type?: string;
  readonly clusterIP?: string;
  readonly externalTrafficPolicy?: string;
}

const seenIn = ({ type, clusterIP, externalTrafficPolicy }: Spec, annotations: Record<string, string> = {}) =>
  sendersOfService({ type, clusterIP, externalTrafficPolicy, annotations: annotationsOf(annotations) });

const services: readonly (readonly [what: string, Spec, Record<string, string>, string])[] = [
  ["a Service", {}, {}, "kube-proxy 10"],
  ["a headless one", { clusterIP: "None" }, {}, "DNS 30"],
  ["one with a NEG", {}, neg, "kube-proxy 10, NEG 60"],
  ["one that says that it has no NEG", {}, { "cloud.google.com/neg": '{"ingress": false}' }, "kube-proxy 10"],
  ["an NLB to pods", { type: "LoadBalancer" }, targets, "kube-proxy 10, NLB 120"],
  ["an NLB to pods by its old name", local, { [`${aws}type`]: "nlb-ip" }, "kube-proxy 10, NLB 120"],
  ["annotations of an NLB without a load balancer", {}, targets, "kube-proxy 10"],
  ["a load balancer to all nodes", { type: "LoadBalancer" }, {}, "kube-proxy 10"],
  ["a load balancer to nodes with pods", local, {}, "kube-proxy 10, health checks 15"],
  ["the same of AWS", local, { [`${aws}type`]: "external" }, "kube-proxy 10, health checks 40"],
  [
    "the same of AWS that says its interval",
    local,
    { [`${aws}healthcheck-interval`]: "20" },
    "kube-proxy 10, health checks 70",
  ],
  [
    "the same of Azure that says its probes",
    local,
    { [`${azure}interval`]: "6", [`${azure}num-of-probe`]: "4" },
    "kube-proxy 10, health checks 29",
  ],
  ["both a NEG and nodes with pods", local, neg, "kube-proxy 10, NEG 60, health checks 15"],
];

for (const [what, spec, annotations, expected] of services)
  test(`the senders of a Service and their seconds: ${what}`, () => {
    const found = seenIn(spec, annotations).map(({ label, seconds }) => `${label} ${seconds}`);
    assert.equal(found.join(", "), expected);
  });

const ingress = { kind: "Ingress" };
const routes: readonly (readonly [
  what: string,
  className: string | undefined,
  annotations: Record<string, string>,
  expected: string | undefined,
])[] = [
  ["an Ingress without a class", undefined, {}, "ingress proxy 10"],
  ["an Ingress of a class", "edge", {}, "ingress proxy (edge) 10"],
  [
    "an Ingress with the old annotation",
    undefined,
    { "kubernetes.io/ingress.class": "gce" },
    "GKE load balancer (NEG) 60",
  ],
  ["an ALB to pods", "alb", { "alb.ingress.kubernetes.io/target-type": "ip" }, "AWS ALB (IP targets) 40"],
  ["an ALB to nodes, where kube-proxies choose the pods", "alb", {}, undefined],
  ["an Application Gateway", "azure-application-gateway", {}, "Azure Application Gateway 30"],
];

for (const [what, ingressClassName, annotations, expected] of routes)
  test(`the sender of a route and its seconds: ${what}`, () => {
    const found = senderOfRoute(
      { ...ingress, ingressClassName, annotations: annotationsOf(annotations) },
      [],
    );
    assert.equal(found && `${found.name} ${found.seconds}`, expected);
  });

const ip = { "alb.ingress.kubernetes.io/target-type": "ip" };
const of = (name: string, controller?: string, isDefault = false): SeenClass => ({
  metadata: { name },
  controller,
  isDefault,
});
for (const [what, className, classes, expected, program] of [
  ["one of another name", "public", [of("public", "ingress.k8s.aws/alb")], "AWS ALB (IP targets)", "AWS's"],
  [
    "one with the name of others",
    "alb",
    [of("alb", "k8s.io/ingress-nginx")],
    "ingress proxy (alb)",
    "ingress-",
  ],
  ["one of NGINX", "nginx", [of("nginx", "nginx.org/ingress-controller")], "ingress proxy (nginx)", "the "],
  [
    "the default one",
    undefined,
    [of("a", "x.example/y"), of("b", "ingress.k8s.aws/alb", true)],
    "AWS ALB",
    "AWS's",
  ],
  [
    "none, and there is no default",
    undefined,
    [of("alb", "ingress.k8s.aws/alb")],
    "ingress proxy",
    undefined,
  ],
  ["one that is not there", "alb", [of("b", "k8s.io/ingress-nginx", true)], "AWS ALB (IP targets)", "AWS's"],
  ["one that names no controller", "alb", [of("alb")], "AWS ALB (IP targets)", "AWS's"],
  [
    "one of a controller renamed",
    "nginx",
    [of("nginx", "k8s.io/internal-nginx")],
    "ingress proxy",
    "ingress-",
  ],
] as const)
  test(`an Ingress is served by the controller of its class: ${what}`, () => {
    const byField = { ingressClassName: className, annotations: annotationsOf(ip) };
    const noted = { ...ip, ...(className && { "kubernetes.io/ingress.class": className }) };
    const byAnnotation = { ingressClassName: undefined, annotations: annotationsOf(noted) };
    for (const named of [byField, byAnnotation]) {
      const route = withClass({ ...ingress, ...named }, classes);
      const name = senderOfRoute(route, [])?.name ?? "";
      assert.ok(name.startsWith(expected), name);
      const who = programOfRoute(route)?.who;
      assert.ok(program === undefined ? who === undefined : who?.startsWith(program), who);
    }
  });

test("an Ingress before a Service with a NEG is Google's, and a route of the Gateway API is not", () => {
  const senders = seenIn({}, neg);
  const annotations = annotationsOf();
  const route = { ...ingress, annotations, ingressClassName: undefined };
  assert.equal(senderOfRoute(route, senders)?.label, "NEG");
  const other = { ...route, kind: "HTTPRoute" };
  assert.equal(senderOfRoute(other, senders)?.label, "gateway");
});

test("a number of health checks names the annotation that says it", () => {
  assert.equal(nodeCheckOf(annotationsOf({ [`${azure}interval`]: "6" })).annotation, `${azure}interval`);
  assert.equal(nodeCheckOf(annotationsOf({ [`${aws}type`]: "x" })).annotation, undefined);
});

const unnamed = { type: undefined, clusterIP: undefined, externalTrafficPolicy: undefined };

test("a Service that a load balancer may have as its target is waited for, in doubt too", () => {
  const of = (annotations: Record<string, string>): string =>
    balancersOf({ ...unnamed, annotations: annotationsOf(annotations) }).join();
  assert.equal(of({}), "");
  assert.equal(of(targets), "load-balancer/aws");
  assert.equal(of({ ...targets, "cloud.google.com/neg": "{" }), "load-balancer/aws,load-balancer/gcp");
});

test("a consumer may serve its node, a class, a Service's load balancer or a name, and nothing else", () => {
  for (const what of "node ingress-class/edge gateway-class/edge load-balancer/gcp load-balancer/aws/shop/web consumer/http/cdn".split(
    " ",
  ))
    assert.ok(isServed(what), what);
  for (const what of "nodes class/edge load-balancer/cilium load-balancer/azure/shop/web load-balancer/aws/shop/web/x".split(
    " ",
  ))
    assert.ok(!isServed(what), what);
});

test("kube-proxy, Cilium and whoever says so carry the traffic of their node", () => {
  const carries = (kind: string, ...serves: string[]): boolean => isNodeProxy({ kind, serves });
  assert.ok(carries("kube-proxy") && carries("cilium") && carries("http", "node"));
  assert.ok(!carries("nginx") && !carries("aws", "load-balancer/aws"));
});

test("no name of a kind and no name of a preset is used twice", () => {
  const unique = (all: readonly string[]): void => assert.deepEqual(all, [...new Set(all)]);
  unique(kinds.map(({ name }) => name));
  const names = kinds.flatMap((kind) => Object.keys(kind.presets ?? {}));
  unique(names);
  assert.deepEqual(Object.keys(presets), ["instant", ...names]);
});
