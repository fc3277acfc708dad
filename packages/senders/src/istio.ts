import type { SenderKind, ObjectKind, SeenPod } from "./kind.ts";
import {
  asIstio,
  containerOf,
  everyService,
  everyServiceIn,
  fieldsAt,
  isOn,
  serviceOfHost,
  valuesAt,
  wordsOf,
} from "./recognising.ts";

const [sidecars, ambient, gateways] = ["mesh/istio", "mesh/istio-ambient", "proxy/istio"];
const waypointLabel = "istio.io/use-waypoint";
const modeLabel = "istio.io/dataplane-mode";

/** `pilot-agent proxy ROLE`: "sidecar", "router" for gateways, "ztunnel", "waypoint". */
function roleOf(pod: SeenPod): string | undefined {
  const container = containerOf(pod, "istio-proxy");
  if (container === undefined) return undefined;
  const words = wordsOf(container);
  return words[words.indexOf("proxy") + 1] ?? "sidecar";
}

const isZtunnel = (pod: SeenPod): boolean =>
  roleOf(pod) === "ztunnel" || containerOf(pod, "ztunnel") !== undefined;

const object = (kind: string, plural: string, read: ObjectKind["read"]): ObjectKind => ({
  group: "networking.istio.io",
  versions: ["v1", "v1beta1", "v1alpha3"],
  kind,
  plural,
  read,
});

/** One without hosts is a part of others, and serves where they do. */
const virtualService = object("VirtualService", "virtualservices", ({ metadata, spec }) => {
  const { gateways: named = ["mesh"], hosts } = (spec ?? {}) as { gateways?: unknown; hosts?: unknown };
  const all = [named].flat();
  const isPart = hosts === undefined;
  return {
    services: ["destination", "mirror", "mirrors"]
      .flatMap((key) => fieldsAt(spec, key))
      .flatMap(({ host }) => serviceOfHost(host, metadata.namespace)),
    by: [
      ...(isPart || all.includes("mesh") ? [sidecars] : []),
      ...(isPart || all.some((one) => one !== "mesh") ? [gateways] : []),
    ],
  };
});

const hosts = (key: string): ObjectKind["read"] => {
  return ({ metadata, spec }) => ({
    services: valuesAt(spec, key).flatMap((host) => serviceOfHost(host, metadata.namespace)),
  });
};

export const istio = {
  name: "istio",
  programs: [
    {
      who: "Istio's gateways",
      classes: ["istio.io/gateway-controller", "istio.io/ingress-controller"],
      isProxy: (pod) => roleOf(pod) === "router",
      consumer: "envoy=http://127.0.0.1:15000",
      isUntried: true,
    },
    { who: "Istio's waypoints and ztunnel", classes: ["istio.io/mesh-controller"] },
  ],
  recognised: [
    {
      need: sidecars,
      who: "Istio's sidecars",
      converges: asIstio,
      source:
        "istio/istio: pkg/kube/inject/webhook.go, pilot/pkg/features/tuning.go, pilot/pkg/xds/monitoring.go",
      knownBy: "a pod with a container `istio-proxy` that is no gateway, or with `sidecar.istio.io/status`",
      ofPod: (pod) => {
        const role = roleOf(pod);
        const isInjected = pod.annotations["sidecar.istio.io/status"] !== undefined;
        const isOther = ["router", "waypoint", "ztunnel"].includes(role ?? "");
        return (role !== undefined || isInjected) && !isOther ? [everyService] : undefined;
      },
      objects: [
        virtualService,
        object("DestinationRule", "destinationrules", hosts("host")),
        // By labels it leads to pods of its namespace, and no Service says which.
        object("ServiceEntry", "serviceentries", (one) =>
          fieldsAt(one.spec, "workloadSelector").length > 0
            ? { services: [everyServiceIn(one.metadata.namespace ?? "")] }
            : hosts("hosts")(one),
        ),
      ],
    },
    {
      need: gateways,
      who: "Istio's gateways",
      reader: "envoy=http://127.0.0.1:15000",
      converges: asIstio,
      source: "istio/api: networking/v1/virtual_service.proto",
      knownBy: "a `VirtualService` with gateways other than `mesh`",
    },
    {
      need: ambient,
      who: "ztunnel, Istio's proxy on each node",
      reader: "ztunnel=http://127.0.0.1:15000",
      converges: asIstio,
      source: "istio/api: label/labels.gen.go, annotation/annotations.gen.go",
      knownBy: `ztunnel; a namespace or pod with \`${modeLabel}: ambient\`, a pod with \`ambient.istio.io/redirection\``,
      ofPod: (pod) =>
        isZtunnel(pod) ||
        pod.labels[modeLabel] === "ambient" ||
        isOn(pod.annotations["ambient.istio.io/redirection"])
          ? [everyService]
          : undefined,
      isOfNode: isZtunnel,
      ofNamespace: ({ labels }) => (labels[modeLabel] === "ambient" ? [everyService] : undefined),
    },
    {
      need: "gateway-class/istio-waypoint",
      who: "a waypoint of Istio",
      converges: asIstio,
      source: "istio/api: label/labels.gen.go",
      knownBy: `a Service, a namespace or a pod with \`${waypointLabel}\``,
      ofPod: ({ labels, namespace }) => (isUsed(labels) ? [everyServiceIn(namespace)] : undefined),
      ofService: ({ labels }) => isUsed(labels ?? {}),
      ofNamespace: ({ name, labels }) => (isUsed(labels) ? [everyServiceIn(name)] : undefined),
    },
  ],
  presets: {
    mesh: {
      summary: "Istio sidecars",
      source: "Airbnb, pilot_proxy_convergence_time p90 1.5 s (1.11); debounce of 100 ms not counted in it",
      forwarder: { kind: "delay", delay: { sum: [100, { lognormal: [800, 1_500] }] } },
    },
  },
} as const satisfies SenderKind;

function isUsed({ [waypointLabel]: waypoint = "none" }: Readonly<Record<string, string>>): boolean {
  return waypoint !== "none";
}

/** The proxy of each node in Istio's ambient mode. Its traffic is that of pods in the mesh: kube-proxy carries that of others. */
export const ztunnel = {
  name: "ztunnel",
  consumer: {
    usage: "ztunnel=URL",
    help: "administration interface, such as http://127.0.0.1:15000",
    reads: [
      {
        what: "`/config_dump` of the administration interface",
        letGoWhen: "no service has a workload with it as endpoint",
      },
    ],
  },
} as const satisfies SenderKind;
