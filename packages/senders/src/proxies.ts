import { slowestBalancer } from "./aws.ts";
import type { SenderKind, ObjectKind, Recognised } from "./kind.ts";
import {
  asProxies,
  asUnmeasured,
  byClass,
  everyService,
  fieldsAt,
  namedAt,
  namedBy,
  serviceAt,
  serviceOfHost,
  valuesAt,
  wordsOf,
} from "./recognising.ts";

function objects(
  group: string,
  versions: readonly string[],
  read: ObjectKind["read"],
  kinds: Readonly<Record<string, string>>,
): readonly ObjectKind[] {
  return Object.entries(kinds).map(([kind, plural]) => ({ group, versions, kind, plural, read }));
}

const kong: Recognised = {
  need: "proxy/kong",
  who: "Kong",
  converges: asProxies,
  source: "Kong/kubernetes-ingress-controller: pkg/apis; Kong/kubernetes-configuration: api",
  objects: [
    ...objects("configuration.konghq.com", ["v1beta1", "v1"], byClass(namedBy("serviceName")), {
      TCPIngress: "tcpingresses",
      UDPIngress: "udpingresses",
    }),
    ...objects(
      "incubator.ingress-controller.konghq.com",
      ["v1alpha1"],
      byClass(namedAt("backendRef", "backend")),
      { KongServiceFacade: "kongservicefacades" },
    ),
  ],
};

/** Backends of granularity `service` are sent to by the Service's own address. */
const apisix: Recognised = {
  need: "proxy/apisix",
  who: "APISIX",
  converges: asProxies,
  source: "apache/apisix-ingress-controller: api/v2/apisixroute_types.go",
  objects: objects(
    "apisix.apache.org",
    ["v2", "v2beta3", "v2beta2"],
    byClass(({ metadata, spec }) => ({
      services: ["backends", "backend"]
        .flatMap((key) => fieldsAt(spec, key))
        .filter(({ resolveGranularity }) => resolveGranularity !== "service")
        .flatMap(({ serviceName }) => serviceAt(metadata.namespace, serviceName)),
    })),
    { ApisixRoute: "apisixroutes" },
  ),
};

const emissary: Recognised = {
  need: "proxy/emissary",
  who: "Emissary or Ambassador",
  converges: asProxies,
  source: "emissary-ingress/emissary: pkg/api/getambassador.io",
  knownBy: "a Service with `getambassador.io/config`",
  ofService: ({ annotations }) => annotations.get("getambassador.io/config") !== undefined,
  objects: objects(
    "getambassador.io",
    ["v3alpha1", "v2", "v1"],
    ({ metadata, spec }) => ({
      services: ["service", "auth_service"]
        .flatMap((key) => valuesAt(spec, key))
        .flatMap((host) => serviceOfHost(host, metadata.namespace)),
    }),
    {
      Mapping: "mappings",
      TCPMapping: "tcpmappings",
      AuthService: "authservices",
      RateLimitService: "ratelimitservices",
      LogService: "logservices",
      TracingService: "tracingservices",
    },
  ),
};

const gloo: Recognised = {
  need: "proxy/gloo",
  who: "Gloo",
  converges: asProxies,
  source:
    "solo-io/gloo: projects/gloo/api/v1/options/kubernetes/kubernetes.proto, projects/gloo/api/v1/proxy.proto",
  objects: [
    ...objects("gloo.solo.io", ["v1"], namedBy("serviceName", "serviceNamespace"), { Upstream: "upstreams" }),
    // A route may lead to a Service without an Upstream.
    ...objects(
      "gateway.solo.io",
      ["v1"],
      ({ metadata, spec }) => namedAt("ref")({ metadata, spec: fieldsAt(spec, "kube") }),
      { VirtualService: "virtualservices", RouteTable: "routetables", Gateway: "gateways" },
    ),
  ],
};

const openshift: Recognised = {
  need: "proxy/openshift-router",
  who: "OpenShift's router",
  converges: asProxies,
  source: "openshift/api: route/v1/types.go",
  objects: objects("route.openshift.io", ["v1"], namedAt("to", "alternateBackends"), { Route: "routes" }),
};

const knative: Recognised = {
  need: "proxy/knative",
  who: "Knative's activator and its ingress",
  converges: asProxies,
  source: "knative/networking: pkg/apis/networking/register.go",
  knownBy: "a Service with `networking.internal.knative.dev/serverlessservice` or `.../serviceType`",
  ofService: ({ labels = {} }) =>
    labels["networking.internal.knative.dev/serverlessservice"] !== undefined ||
    labels["networking.internal.knative.dev/serviceType"] !== undefined,
  objects: objects(
    "networking.internal.knative.dev",
    ["v1alpha1"],
    namedBy("serviceName", "serviceNamespace"),
    { Ingress: "ingresses" },
  ),
};

const f5: Recognised = {
  need: "proxy/f5",
  who: "F5 BIG-IP",
  converges: asUnmeasured,
  source: "F5Networks/k8s-bigip-ctlr: config/apis/cis/v1/types.go",
  objects: objects("cis.f5.com", ["v1"], namedBy("service", "serviceNamespace"), {
    VirtualServer: "virtualservers",
    TransportServer: "transportservers",
  }),
};

/**
 * Flags of ingress-nginx and of HAProxy's controllers. Each names a Service to which the proxy sends, and no object names that Service. The value
 * may be the next argument.
 */
const ledByFlag =
  /--(default-backend-service|tcp-services-configmap|udp-services-configmap|configmap-tcp-services)[= ]([^\s"']+)/g;

const byFlags: Recognised = {
  need: "proxy/by-flags",
  who: "an ingress controller that is told of Services by its flags",
  converges: asProxies,
  source:
    "kubernetes/ingress-nginx: pkg/flags/flags.go; haproxytech/kubernetes-ingress: documentation/controller.md",
  knownBy: "a pod with `--default-backend-service`, or a ConfigMap of TCP or UDP services as a flag",
  ofPod: (pod) => {
    const flags = pod.containers.flatMap((one) => [...wordsOf(one).join(" ").matchAll(ledByFlag)]);
    const services = flags.flatMap(([, flag, value = ""]) => {
      const [namespace, name] = value.replace("$(POD_NAMESPACE)", pod.namespace).split("/");
      const [service = everyService] = flag === "default-backend-service" ? serviceAt(namespace, name) : [];
      return service;
    });
    return services.length > 0 ? services : undefined;
  },
};

/** Classes whose traffic comes through nodes although no port of theirs is asked for. */
const throughNodes = /metallb|^io\.cilium\/|kube-vip|purelb|openelb/;

const withoutNodePorts: Recognised = {
  need: "load-balancer/without-node-ports",
  who: "a load balancer that needs no port of the nodes, and may send to pods",
  converges: slowestBalancer,
  source: "kubernetes/api: core/v1/types.go",
  knownBy:
    "a Service with `allocateLoadBalancerNodePorts: false`, unless it names a balancer that sends to nodes",
  ofService: ({ type, allocateLoadBalancerNodePorts, loadBalancerClass = "", annotations }) =>
    type === "LoadBalancer" &&
    allocateLoadBalancerNodePorts === false &&
    ![loadBalancerClass, ...annotations.names()].some((one) => throughNodes.test(one)),
};

const clouds: Recognised = {
  need: "load-balancer/of-cloud",
  who: "a cloud's load balancer with pods as targets",
  converges: slowestBalancer,
  source:
    "kubernetes/cloud-provider-alibaba-cloud: pkg/model/service; cloud.tencent.com/document/product/457/41897",
  knownBy: "a Service with `.../backend-type: eni` (Alibaba) or `.../direct-access` (Tencent)",
  ofService: ({ annotations }) =>
    annotations.get("service.beta.kubernetes.io/backend-type") === "eni" ||
    annotations.get("service.cloud.tencent.com/direct-access") === "true",
};

const exported: ObjectKind["read"] = ({ metadata: { namespace, name } }) => ({
  services: serviceAt(namespace, name),
});

const otherClusters: Recognised = {
  need: "other-clusters/exports",
  who: "senders of other clusters, to which the Service is exported",
  converges: asUnmeasured,
  source:
    "linkerd.io/2-edge/tasks/multicluster; hashicorp/consul-k8s: control-plane/catalog; kubernetes-sigs/mcs-api",
  knownBy: "a Service with `mirror.linkerd.io/exported` or `consul.hashicorp.com/service-sync`",
  ofService: ({ labels = {}, annotations }) =>
    labels["mirror.linkerd.io/exported"] !== undefined ||
    annotations.get("consul.hashicorp.com/service-sync") === "true",
  objects: [
    ...objects("multicluster.x-k8s.io", ["v1beta1", "v1alpha1"], exported, {
      ServiceExport: "serviceexports",
    }),
    ...objects("net.gke.io", ["v1"], exported, { ServiceExport: "serviceexports" }),
    ...objects("application-networking.k8s.aws", ["v1alpha1"], exported, {
      ServiceExport: "serviceexports",
    }),
  ],
};

/** It watches pods itself, and tells the gateway which one gets a request: what the gateway's own list has says nothing of it. */
const endpointPicker: Recognised = {
  need: "proxy/endpoint-picker",
  who: "the endpoint picker of an InferencePool",
  converges: asProxies,
  source: "kubernetes-sigs/gateway-api-inference-extension: docs/proposals/004-endpoint-picker-protocol",
  knownBy: "a route of the Gateway API that leads to an `InferencePool`",
};

/** Proxies and load balancers of which nothing is known but the objects that lead to Services. */
export const proxies = {
  name: "proxies",
  programs: [
    { who: "Kong", classes: ["ingress-controllers.konghq.com/", "konghq.com/"] },
    { who: "APISIX", classes: ["apisix.apache.org/"] },
    { who: "Emissary or Ambassador", classes: ["getambassador.io/"] },
    { who: "Gloo", classes: ["solo.io/", "kgateway.dev/"] },
    { who: "OpenShift's router", classes: ["openshift.io/"] },
    { who: "F5 BIG-IP", classes: ["f5.com/", "cis.f5.com/"] },
  ],
  recognised: [
    kong,
    apisix,
    emissary,
    gloo,
    openshift,
    knative,
    f5,
    byFlags,
    endpointPicker,
    withoutNodePorts,
    clouds,
    otherClusters,
  ],
} as const satisfies SenderKind;
