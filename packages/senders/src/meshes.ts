import type { SenderKind, Recognised, SeenPod } from "./kind.ts";
import {
  asProxies,
  asUnmeasured,
  containerOf,
  everyService,
  everyServiceIn,
  hasWatcher,
  isOn,
  serviceAt,
  valuesAt,
  wordsOf,
} from "./recognising.ts";

/** A mesh whose sidecars call pods that have one, too: all that is known of it is a sidecar. */
function ofMembers(
  mesh: string,
  who: string,
  source: string,
  knownBy: string,
  isMember: (pod: SeenPod) => boolean,
): Recognised {
  return {
    need: `mesh/${mesh}`,
    who,
    converges: asUnmeasured,
    knownBy,
    source,
    ofPod: (pod) => (isMember(pod) ? [everyServiceIn(pod.namespace)] : undefined),
  };
}

/** Containers that belong to the Envoy of a gateway, whose routes are objects. */
const besideGateways = ["contour", "shutdown-manager", "envoy-initconfig", "lameduck-watcher"];

function hasUnknownEnvoy(pod: SeenPod): boolean {
  const isEnvoy = ({ name, image = "" }: SeenPod["containers"][number]): boolean =>
    name === "envoy" ||
    // Istio's is known by its name, whatever its image.
    (name !== "istio-proxy" && /(?:^|\/)envoy(?:-distroless|-alpine)?(?:[:@]|$)/.test(image));
  const others = pod.containers.filter((one) => !isEnvoy(one) && !besideGateways.includes(one.name));
  return (
    others.length > 0 &&
    others.length < pod.containers.length &&
    !hasWatcher(pod) &&
    !known.some(({ ofPod }) => ofPod?.(pod) !== undefined)
  );
}

const known: readonly Recognised[] = [
  ofMembers(
    "consul",
    "Consul's sidecars",
    "hashicorp/consul-k8s: control-plane/connect-inject/constants/annotations_and_labels.go",
    "a pod with a container `consul-dataplane` or `envoy-sidecar`, or `consul.hashicorp.com/connect-inject-status`",
    // With several ports each has a sidecar, and its name ends with that of the service.
    ({ containers, annotations, labels }) =>
      containers.some(({ name }) =>
        /^(?:consul-dataplane|(?:consul-connect-)?envoy-sidecar)(?:-|$)/.test(name),
      ) ||
      [annotations, labels].some((all) => all["consul.hashicorp.com/connect-inject-status"] !== undefined),
  ),
  ofMembers(
    "kuma",
    "sidecars of Kuma or Kong Mesh",
    "kumahq/kuma: pkg/plugins/runtime/k8s/metadata/annotations.go, pkg/plugins/runtime/k8s/util/names.go",
    "a pod with a container `kuma-sidecar`, or `kuma.io/sidecar-injected`",
    (pod) =>
      containerOf(pod, "kuma-sidecar") !== undefined || isOn(pod.annotations["kuma.io/sidecar-injected"]),
  ),
  ofMembers(
    "osm",
    "sidecars of Open Service Mesh",
    "openservicemesh/osm: pkg/constants/constants.go",
    "a pod with the label `osm-proxy-uuid`",
    ({ labels }) => labels["osm-proxy-uuid"] !== undefined,
  ),
  ofMembers(
    "dapr",
    "Dapr's sidecars",
    "dapr/dapr: pkg/injector/annotations/annotations.go",
    "a pod with a container `daprd`, or `dapr.io/enabled`",
    (pod) => containerOf(pod, "daprd") !== undefined || isOn(pod.annotations["dapr.io/enabled"]),
  ),
  ofMembers(
    "app-mesh",
    "sidecars of AWS App Mesh",
    "aws/aws-app-mesh-controller-for-k8s: pkg/inject",
    "a pod with an annotation of `appmesh.k8s.aws` or the variable `APPMESH_RESOURCE_ARN`",
    ({ annotations, containers }) =>
      Object.keys(annotations).some((name) => name.startsWith("appmesh.k8s.aws/")) ||
      containers.some(({ env }) => env?.some(({ name }) => /^APPMESH_(?:RESOURCE|VIRTUAL)/.test(name))),
  ),
  ofMembers(
    "nginx",
    "sidecars of NGINX Service Mesh",
    "docs.nginx.com/nginx-service-mesh",
    "a pod with a container `nginx-mesh-sidecar`",
    (pod) => containerOf(pod, "nginx-mesh-sidecar") !== undefined,
  ),
  {
    need: "mesh/traefik",
    who: "Traefik Mesh, a proxy on each node",
    converges: asProxies,
    knownBy: "a pod with the label `component: maesh-mesh`",
    source: "traefik/mesh: pkg/k8s/filter.go, pkg/controller",
    ofPod: ({ labels }) => (labels["component"] === "maesh-mesh" ? [everyService] : undefined),
  },
  {
    need: "mesh/consul-catalog",
    who: "clients that find pods by Consul's catalogue",
    converges: asUnmeasured,
    source: "hashicorp/consul-k8s: control-plane/subcommand/sync-catalog",
    knownBy: "a pod that runs `consul-k8s-control-plane sync-catalog`",
    ofPod: ({ containers }) =>
      containers.some((one) => wordsOf(one).some((word) => /\bsync-catalog\b/.test(word)))
        ? [everyService]
        : undefined,
  },
  {
    need: "mesh/smi",
    who: "a mesh that reads TrafficSplits",
    converges: asUnmeasured,
    source: "servicemeshinterface/smi-spec: apis/traffic-split",
    objects: [
      {
        group: "split.smi-spec.io",
        versions: ["v1alpha4", "v1alpha3", "v1alpha2", "v1alpha1"],
        kind: "TrafficSplit",
        plural: "trafficsplits",
        read: ({ metadata, spec }) => ({
          services: valuesAt(spec, "service").flatMap((name) => serviceAt(metadata.namespace, name)),
        }),
      },
    ],
  },
];

/** Meshes of which nothing but their sidecars is known here. */
export const meshes = {
  name: "meshes",
  recognised: [
    ...known,
    {
      need: "mesh/service-routes",
      who: "a mesh that reads routes of the Gateway API",
      converges: asUnmeasured,
      source: "kubernetes-sigs/gateway-api: geps/gep-1324",
      knownBy: "a route of the Gateway API whose parent is a Service",
    },
    {
      need: "mesh/envoy",
      who: "an Envoy beside another container, of no mesh that is known",
      converges: asUnmeasured,
      source: "envoyproxy/envoy: the names of its images",
      knownBy: "a pod with a container or an image `envoy`, and containers that do not belong to it",
      ofPod: (pod) => (hasUnknownEnvoy(pod) ? [everyService] : undefined),
    },
  ],
} as const satisfies SenderKind;
