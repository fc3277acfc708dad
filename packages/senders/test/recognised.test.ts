import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import {
  annotationsOf,
  isServed,
  kinds,
  mayServeOneClass,
  needsOfService,
  objectKinds,
  proxyOf,
  recognised,
  type SeenPod,
  type SeenProxy,
  sendersOfNamespace,
  sendersOfPod,
  whoIs,
} from "../src/index.ts";

const app = { name: "app", image: "registry.example/app:1" };
const pod = (containers: SeenPod["containers"], more: Partial<SeenPod> = {}): SeenPod => ({
  namespace: "shop",
  labels: {},
  annotations: {},
  containers: [app, ...containers],
  ...more,
});
const alone = (container: SeenPod["containers"][number], more: Partial<SeenPod> = {}): SeenPod =>
  pod([], { containers: [container], ...more });
const istio = (role: string): SeenPod["containers"][number] => ({
  name: "istio-proxy",
  args: ["proxy", role, "--domain", "shop.svc.cluster.local"],
});
const labelled = (labels: SeenPod["labels"]): SeenPod => pod([], { labels });
const annotated = (annotations: SeenPod["annotations"]): SeenPod => pod([], { annotations });
const everywhere = (need: string): string => `${need} to /`;
const ofShop = (need: string): string => `${need} to shop/`;

const pods: readonly (readonly [what: string, pod: SeenPod, expected: string])[] = [
  ["an ordinary one", pod([{ name: "log" }]), ""],
  ["with Istio's sidecar", pod([istio("sidecar")]), everywhere("mesh/istio")],
  [
    "with Istio's sidecar of another image",
    pod([{ name: "istio-proxy", image: "registry.example/envoy:1" }]),
    everywhere("mesh/istio"),
  ],
  ["with Istio's sidecar, started otherwise", pod([{ name: "istio-proxy" }]), everywhere("mesh/istio")],
  ["that says it was injected", annotated({ "sidecar.istio.io/status": "{}" }), everywhere("mesh/istio")],
  ["a gateway of Istio", alone(istio("router")), ""],
  [
    "a gateway of Istio that was injected",
    alone(istio("router"), { annotations: { "sidecar.istio.io/status": "{}" } }),
    "",
  ],
  ["a waypoint", alone(istio("waypoint")), ""],
  ["ztunnel", alone(istio("ztunnel")), everywhere("mesh/istio-ambient")],
  ["in ambient mode", labelled({ "istio.io/dataplane-mode": "ambient" }), everywhere("mesh/istio-ambient")],
  ["kept out of ambient mode", labelled({ "istio.io/dataplane-mode": "none" }), ""],
  [
    "redirected to ztunnel",
    annotated({ "ambient.istio.io/redirection": "enabled" }),
    everywhere("mesh/istio-ambient"),
  ],
  ["behind a waypoint", labelled({ "istio.io/use-waypoint": "w" }), ofShop("gateway-class/istio-waypoint")],
  ["with Linkerd's sidecar", pod([{ name: "linkerd-proxy" }]), everywhere("mesh/linkerd")],
  [
    "with Linkerd's annotation",
    annotated({ "linkerd.io/proxy-version": "edge-25.1" }),
    everywhere("mesh/linkerd"),
  ],
  [
    "of Linkerd itself",
    pod([{ name: "linkerd-proxy" }], {
      labels: { "linkerd.io/control-plane-component": "destination" },
    }),
    "",
  ],
  ["with Consul's sidecar", pod([{ name: "consul-dataplane" }]), ofShop("mesh/consul")],
  ["with Consul's sidecars of two ports", pod([{ name: "consul-dataplane-web" }]), ofShop("mesh/consul")],
  [
    "with Consul's label",
    labelled({ "consul.hashicorp.com/connect-inject-status": "injected" }),
    ofShop("mesh/consul"),
  ],
  [
    "with Consul's annotation",
    annotated({ "consul.hashicorp.com/connect-inject-status": "injected" }),
    ofShop("mesh/consul"),
  ],
  ["with Kuma's sidecar", pod([{ name: "kuma-sidecar" }]), ofShop("mesh/kuma")],
  [
    "of Open Service Mesh",
    pod([{ name: "envoy", image: "envoyproxy/envoy:v1" }], { labels: { "osm-proxy-uuid": "x" } }),
    ofShop("mesh/osm"),
  ],
  ["with Dapr's sidecar", pod([{ name: "daprd" }]), ofShop("mesh/dapr")],
  ["with Dapr's annotation", annotated({ "dapr.io/enabled": "true" }), ofShop("mesh/dapr")],
  [
    "of App Mesh",
    pod([{ name: "envoy", env: [{ name: "APPMESH_RESOURCE_ARN", value: "x" }] }]),
    ofShop("mesh/app-mesh"),
  ],
  ["of NGINX Service Mesh", pod([{ name: "nginx-mesh-sidecar" }]), ofShop("mesh/nginx")],
  ["of Traefik Mesh", labelled({ component: "maesh-mesh" }), everywhere("mesh/traefik")],
  [
    "that fills Consul's catalogue",
    alone({ name: "sync", command: ["/bin/sh", "-ec", "exec consul-k8s-control-plane sync-catalog -x"] }),
    everywhere("mesh/consul-catalog"),
  ],
  ["with an Envoy of its own", pod([{ name: "envoy" }]), everywhere("mesh/envoy")],
  [
    "with an Envoy by its image",
    pod([{ name: "front", image: "docker.io/envoyproxy/envoy@sha256:0" }]),
    everywhere("mesh/envoy"),
  ],
  ["an Envoy alone", alone({ name: "envoy" }), ""],
  [
    "Contour's Envoy",
    pod([{ name: "envoy" }], { containers: [{ name: "shutdown-manager" }, { name: "envoy" }] }),
    "",
  ],
  [
    "an Envoy for which a watcher reports",
    pod([{ name: "envoy" }, { name: "w", args: ["watcher", "--consumer=envoy=http://127.0.0.1:9901"] }]),
    "",
  ],
  ["Cilium's agent", alone({ name: "cilium-agent" }), "node-proxy/cilium"],
  ["Calico, of iptables", alone({ name: "calico-node" }), ""],
  [
    "Calico in eBPF mode",
    alone({ name: "calico-node", env: [{ name: "FELIX_BPFENABLED", value: "true" }] }),
    "node-proxy/calico",
  ],
  ["Antrea's agent", alone({ name: "antrea-agent" }), "node-proxy/antrea"],
  ["kube-router", alone({ name: "kube-router" }), "node-proxy/kube-router"],
  [
    "kube-router, for policies alone",
    alone({
      name: "x",
      image: "docker.io/cloudnativelabs/kube-router:v2",
      args: ["--run-service-proxy=false"],
    }),
    "",
  ],
  ["OVN-Kubernetes", alone({ name: "ovnkube-controller" }), "node-proxy/ovn"],
  ["kube-proxy", alone({ name: "kube-proxy" }), "node-proxy/kube-proxy"],
  [
    "an ingress controller with a default backend",
    alone({ name: "c", args: ["/nginx-ingress-controller", "--default-backend-service=edge/errors"] }),
    "proxy/by-flags to edge/errors",
  ],
  [
    "an ingress controller with a default backend in its own namespace, as its chart writes it",
    alone({ name: "c", args: ["--default-backend-service=$(POD_NAMESPACE)/errors"] }),
    "proxy/by-flags to shop/errors",
  ],
  [
    "an ingress controller with a default backend that is not known here",
    alone({ name: "c", args: ["--default-backend-service=$(OTHER)/errors"] }),
    everywhere("proxy/by-flags"),
  ],
  [
    "an ingress controller with TCP services",
    alone({ name: "c", args: ["--tcp-services-configmap=edge/tcp"] }),
    everywhere("proxy/by-flags"),
  ],
  [
    "an ingress controller with flags and values in words of their own",
    alone({ name: "c", args: ["--udp-services-configmap", "edge/udp"] }),
    everywhere("proxy/by-flags"),
  ],
  [
    "an ingress controller whose flag is empty",
    alone({ name: "c", args: ["--tcp-services-configmap=", "--v=2"] }),
    "",
  ],
];

test("a pod shows the senders that it is, or has beside it, and where they send", () => {
  for (const [what, one, expected] of pods) {
    const found = sendersOfPod(one).map(({ need, services }) =>
      services === undefined ? need : `${need} to ${services.join()}`,
    );
    assert.equal(found.join("; "), expected, what);
  }
});

test("a namespace shows who sends from it, and who sends to it", () => {
  for (const [labels, expected] of [
    [{}, ""],
    [{ "istio-injection": "enabled" }, ""],
    [{ "istio.io/dataplane-mode": "ambient" }, "mesh/istio-ambient to /"],
    [{ "istio.io/use-waypoint": "w" }, "gateway-class/istio-waypoint to shop/"],
    [{ "istio.io/use-waypoint": "none" }, ""],
  ] as const) {
    const found = sendersOfNamespace({ name: "shop", labels });
    assert.equal(found.map(({ need, services }) => `${need} to ${services.join()}`).join(), expected);
  }
});

test("a Service shows its waypoint, other clusters, and load balancers that need no port of the nodes", () => {
  const of = (annotations: Record<string, string>, labels = {}, more = {}): string =>
    needsOfService({
      annotations: annotationsOf(annotations),
      labels,
      type: undefined,
      clusterIP: undefined,
      externalTrafficPolicy: undefined,
      ...more,
    }).join();
  const balanced = { type: "LoadBalancer", allocateLoadBalancerNodePorts: false };
  assert.equal(of({}), "");
  assert.equal(of({}, { "istio.io/use-waypoint": "w" }), "gateway-class/istio-waypoint");
  assert.equal(of({ "service.cilium.io/global": "true" }), "other-clusters/cilium");
  assert.equal(of({}, { "mirror.linkerd.io/exported": "true" }), "other-clusters/exports");
  assert.equal(of({ "getambassador.io/config": "---" }), "proxy/emissary");
  assert.equal(of({}, { "networking.internal.knative.dev/serviceType": "Private" }), "proxy/knative");
  assert.equal(of({ "service.beta.kubernetes.io/backend-type": "eni" }), "load-balancer/of-cloud");
  assert.equal(of({}, {}, balanced), "load-balancer/without-node-ports");
  assert.equal(of({}, {}, { ...balanced, loadBalancerClass: "metallb.universe.tf/metallb" }), "");
  assert.equal(of({}, {}, { type: "LoadBalancer" }), "");
});

const objects: Readonly<
  Record<string, readonly (readonly [spec: object, expected: string, annotations?: object])[]>
> = {
  "VirtualService.networking.istio.io": [
    [{ hosts: ["web"], http: [{ route: [{ destination: { host: "web" } }] }] }, "shop/web by mesh/istio"],
    [
      {
        hosts: ["shop.example"],
        gateways: ["edge/public"],
        http: [
          { mirror: { host: "copy" }, route: [{ destination: { host: "web.other.svc.cluster.local" } }] },
        ],
      },
      "other/web shop/copy by proxy/istio",
    ],
    [{ http: [{ route: [{ destination: { host: "web" } }] }] }, "shop/web by mesh/istio,proxy/istio"],
    [
      { hosts: ["x"], gateways: ["mesh", "g"], tcp: [{ route: [{ destination: { host: "db" } }] }] },
      "shop/db by mesh/istio,proxy/istio",
    ],
    // Nothing tells such a name from that of a Service in a namespace.
    [{ hosts: ["x"], http: [{ route: [{ destination: { host: "a.b" } }] }] }, "b/a by mesh/istio"],
    [{ hosts: ["x"], http: [{ route: [{ destination: { host: "api.example.com" } }] }] }, ""],
  ],
  "DestinationRule.networking.istio.io": [
    [{ host: "web" }, "shop/web"],
    [{ host: "*.other.svc.cluster.local" }, "other/"],
    [{ host: "*.local" }, "/"],
  ],
  "ServiceEntry.networking.istio.io": [
    [{ hosts: ["api.example.com"] }, ""],
    [{ hosts: ["x.example"], workloadSelector: { labels: { app: "web" } } }, "shop/"],
  ],
  "IngressRoute.traefik.io": [
    [{ routes: [{ services: [{ name: "web", port: 80 }] }] }, "shop/web"],
    [{ routes: [{ services: [{ name: "web", namespace: "other" }] }] }, "other/web"],
    [{ routes: [{ services: [{ name: "split", kind: "TraefikService" }] }] }, ""],
    [{ routes: [{ services: [{ name: "web", nativeLB: true }] }] }, ""],
    [
      { routes: [{ services: [{ name: "web" }] }] },
      "shop/web by ingress-class/edge",
      { "kubernetes.io/ingress.class": "edge" },
    ],
  ],
  "IngressRouteTCP.traefik.containo.us": [[{ routes: [{ services: [{ name: "db" }] }] }, "shop/db"]],
  "TraefikService.traefik.io": [
    [{ weighted: { services: [{ name: "a" }, { name: "b" }] } }, "shop/a shop/b"],
    [{ mirroring: { name: "a", mirrors: [{ name: "b" }] } }, "shop/a shop/b"],
    [{ failover: { service: { name: "a" }, fallback: { name: "b" } } }, "shop/a shop/b"],
  ],
  "Middleware.traefik.io": [[{ errors: { status: ["500"], service: { name: "errors" } } }, "shop/errors"]],
  "HTTPProxy.projectcontour.io": [
    [{ routes: [{ services: [{ name: "web" }, { name: "copy", mirror: true }] }] }, "shop/copy shop/web"],
    [{ tcpproxy: { services: [{ name: "db" }] } }, "shop/db"],
    [
      { ingressClassName: "contour", routes: [{ services: [{ name: "web" }] }] },
      "shop/web by ingress-class/contour",
    ],
    [{ routes: "none" }, ""],
  ],
  "ExtensionService.projectcontour.io": [[{ services: [{ name: "auth" }] }, "shop/auth"]],
  "VirtualServer.k8s.nginx.org": [
    [{ upstreams: [{ name: "u", service: "web" }] }, "shop/web"],
    [{ upstreams: [{ name: "u", service: "web", "use-cluster-ip": true }] }, ""],
  ],
  "TargetGroupBinding.elbv2.k8s.aws": [
    [{ serviceRef: { name: "web" }, targetType: "ip" }, "shop/web by load-balancer/aws/shop/web"],
    [{ serviceRef: { name: "web" } }, "shop/web by load-balancer/aws/shop/web"],
    [{ serviceRef: { name: "web" }, targetType: "instance" }, ""],
  ],
  "TCPIngress.configuration.konghq.com": [
    [{ rules: [{ backend: { serviceName: "db", servicePort: 1 } }] }, "shop/db"],
  ],
  "ApisixRoute.apisix.apache.org": [
    [{ http: [{ backends: [{ serviceName: "web" }] }] }, "shop/web"],
    [{ http: [{ backends: [{ serviceName: "web", resolveGranularity: "service" }] }] }, ""],
    [
      { ingressClassName: "apisix", stream: [{ backend: { serviceName: "db" } }] },
      "shop/db by ingress-class/apisix",
    ],
  ],
  "Mapping.getambassador.io": [
    [{ hostname: "*", prefix: "/", service: "https://web.other:443" }, "other/web"],
    [{ service: "web" }, "shop/web"],
  ],
  "Upstream.gloo.solo.io": [
    [{ kube: { serviceName: "web", serviceNamespace: "other" } }, "other/web"],
    [{ static: { hosts: [] } }, ""],
  ],
  "RouteTable.gateway.solo.io": [
    [
      {
        routes: [
          { routeAction: { single: { kube: { ref: { name: "web", namespace: "other" }, port: 80 } } } },
          { routeAction: { single: { upstream: { name: "u", namespace: "gloo" } } } },
          { delegateAction: { ref: { name: "more", namespace: "shop" } } },
        ],
      },
      "other/web",
    ],
  ],
  "LogService.getambassador.io": [[{ service: "als.other:3000", driver: "http" }, "other/als"]],
  "SecurityPolicy.gateway.envoyproxy.io": [
    [{ extAuth: { grpc: { backendRefs: [{ name: "auth", port: 9002 }] } } }, "shop/auth"],
    [{ extAuth: { http: { backendRef: { name: "auth", namespace: "other" } } } }, "other/auth"],
  ],
  "EnvoyExtensionPolicy.gateway.envoyproxy.io": [
    [{ extProc: [{ backendRefs: [{ name: "proc", port: 9002 }] }] }, "shop/proc"],
  ],
  "Route.route.openshift.io": [
    [
      { to: { kind: "Service", name: "web" }, alternateBackends: [{ kind: "Service", name: "b" }] },
      "shop/b shop/web",
    ],
  ],
  "TCP.ingress.v3.haproxy.org": [
    [
      [{ name: "x", service: { name: "db", port: 1 }, services: [{ name: "old", port: 1 }] }],
      "shop/db shop/old",
    ],
  ],
  "RouteGroup.zalando.org": [[{ backends: [{ type: "service", serviceName: "web" }] }, "shop/web"]],
  "CiliumEnvoyConfig.cilium.io": [
    [
      { services: [{ name: "web", namespace: "other" }], backendServices: [{ name: "b" }] },
      "other/web shop/b",
    ],
  ],
  "Ingress.networking.internal.knative.dev": [
    [
      { rules: [{ http: { paths: [{ splits: [{ serviceName: "web-1", serviceNamespace: "shop" }] }] } }] },
      "shop/web-1",
    ],
  ],
  "VirtualServer.cis.f5.com": [[{ pools: [{ service: "web", serviceNamespace: "other" }] }, "other/web"]],
  "ServiceExport.multicluster.x-k8s.io": [[{}, "shop/one"]],
  "TrafficSplit.split.smi-spec.io": [[{ service: "web", backends: [{ service: "a" }] }, "shop/a shop/web"]],
  "FelixConfiguration.crd.projectcalico.org": [
    [{ bpfEnabled: true }, "/"],
    [{ bpfEnabled: false }, ""],
  ],
};

test("an object of another API group leads to the Services that it names, by its own rules", () => {
  for (const [name, cases] of Object.entries(objects))
    for (const [spec, expected, annotations = {}] of cases) {
      const kind = objectKinds.find((one) => `${one.kind}.${one.group}` === name);
      assert.ok(kind, name);
      const { services, by } = kind.read({
        metadata: { name: "one", namespace: "shop", annotations: annotations as Record<string, string> },
        spec,
      });
      const led = [...services].sort().join(" ");
      const said = by === undefined || services.length === 0 ? led : `${led} by ${by.join()}`;
      assert.equal(said, expected, `${name} ${JSON.stringify(spec)}`);
    }
});

test("no object is too odd to be read, and one that names no Service leads nowhere", () => {
  const odd: readonly unknown[] = [
    undefined,
    null,
    0,
    "text",
    [],
    [null, [[]]],
    { services: null, service: 7, upstreams: "x", serviceRef: [null], host: {}, to: [], backends: [1] },
    { services: [{ name: "UPPER" }, { name: "" }, { name: "a/b" }, { name: "x".repeat(64) }, { name: {} }] },
    JSON.parse(`${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`),
  ];
  for (const { kind, read } of objectKinds) {
    // These are named as their Service is.
    if (kind === "ServiceExport") continue;
    for (const spec of odd)
      assert.deepEqual(read({ metadata: { name: "one", namespace: "shop" }, spec }).services, [], kind);
  }
});

test("each recognised sender may be reported for by its name, and says who it is and by what it is known", () => {
  for (const { need, who, knownBy, objects = [] } of recognised) {
    assert.ok(isServed(need), need);
    assert.equal(whoIs(need), who);
    assert.ok(knownBy !== undefined || objects.length > 0, need);
  }
  assert.ok(!isServed("mesh/isto"), "a slip of the pen is refused");
  assert.equal(whoIs("ingress-class/edge"), undefined);
  assert.equal(whoIs("load-balancer/aws/shop/web"), "a load balancer of AWS with pods as targets");
  const needs = kinds.flatMap((kind) => kind.recognised ?? []).map(({ need }) => need);
  assert.deepEqual(needs, [...new Set(needs)]);
});

test("the rate limiter of Envoy Gateway is no proxy that needs a watcher", () => {
  const of = (component: string): SeenProxy | undefined =>
    proxyOf(
      labelled({ "app.kubernetes.io/managed-by": "envoy-gateway", "app.kubernetes.io/component": component }),
    );
  assert.deepEqual([of("proxy")?.isRead, of("ratelimit")], [false, undefined]);
});

test("what an ingress controller serves is told by its flags; in doubt it may serve any class", () => {
  const proxy = (...args: readonly string[]): SeenProxy => {
    const found = proxyOf(alone({ name: "controller", args: ["/nginx-ingress-controller", ...args] }));
    assert.ok(found);
    return found;
  };
  assert.deepEqual(proxy().serves, ["controller-class k8s.io/ingress-nginx", "ingress-class nginx"]);
  const most = "n".repeat(253);
  assert.equal(proxy(`--ingress-class=${most}`).serves?.[1], `ingress-class ${most}`);
  assert.equal(proxy(`--ingress-class=${most}n`).serves, undefined, "nothing of that length is a name");
  const apart = fc.constantFrom(
    "--controller-class=b",
    "--ingress-class=b",
    "-ingress-class=b",
    "--ingress-class",
  );
  const flag = fc.oneof(
    apart,
    fc.string(),
    fc.string().map((text) => `--ingress-class=${text}`),
  );
  fc.assert(
    fc.property(fc.array(flag), (args) => {
      const [usual, own] = [proxy(), proxy(...args)];
      assert.ok(mayServeOneClass(own, own));
      assert.equal(mayServeOneClass(own, usual), mayServeOneClass(usual, own));
      const told = (name: string): boolean => args.some((one) => one.replace(/^--?/, "").startsWith(name));
      if (!told("ingress-class") || !told("controller-class")) assert.ok(mayServeOneClass(own, usual));
    }),
  );
});
