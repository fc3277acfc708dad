import type { SenderKind, ObjectKind } from "./kind.ts";
import { watchDelay } from "./preset.ts";
import { asProxies, byClass, fieldsAt, hasImage, serviceAt } from "./recognising.ts";

/** Where Traefik is told to use the Service's own address, nodes choose the pods. */
const read: ObjectKind["read"] = byClass(({ metadata, spec }) => ({
  services: ["services", "service", "fallback", "mirroring", "mirrors"]
    .flatMap((key) => fieldsAt(spec, key))
    .filter(({ kind = "Service", nativeLB }) => kind === "Service" && nativeLB !== true)
    .flatMap(({ name, namespace = metadata.namespace }) => serviceAt(namespace, name)),
}));

const kindsOfObjects = [
  ["IngressRoute", "ingressroutes"],
  ["IngressRouteTCP", "ingressroutetcps"],
  ["IngressRouteUDP", "ingressrouteudps"],
  ["TraefikService", "traefikservices"],
  ["Middleware", "middlewares"],
] as const;

export const traefik = {
  name: "traefik",
  serves: "class",
  consumer: {
    usage: "traefik=URL",
    help: "API, such as http://127.0.0.1:8080",
    reads: [
      {
        what: "`/api/rawdata`",
        letGoWhen: "no service lists it, or only fenced and without sticky sessions",
      },
    ],
  },
  programs: [
    {
      who: "Traefik",
      classes: ["traefik.io/"],
      names: /traefik/,
      keepsIdle: { name: "Traefik", seconds: 90, defaultOf: "Traefik (idleConnTimeout)" },
      isProxy: (pod) => hasImage(pod, /(?:^|\/)traefik(?:[:@]|$)/),
      consumer: "traefik=http://127.0.0.1:8080",
      needs: "its API answers in the pod: --api.insecure=true, on the entry point `traefik`",
    },
  ],
  recognised: [
    {
      need: "proxy/traefik",
      who: "Traefik",
      reader: "traefik=http://127.0.0.1:8080",
      converges: asProxies,
      source: "traefik/traefik: pkg/provider/kubernetes/crd/traefikio/v1alpha1",
      objects: ["traefik.io", "traefik.containo.us"].flatMap((group) =>
        kindsOfObjects.map(([kind, plural]): ObjectKind => ({
          group,
          versions: ["v1alpha1"],
          kind,
          plural,
          read,
        })),
      ),
    },
  ],
  presets: {
    traefik: {
      summary: "Traefik: providersThrottleDuration 2 s",
      source: "https://doc.traefik.io (kubernetes-ingress provider)",
      forwarder: {
        kind: "periodic",
        watch: watchDelay,
        every: 2_000,
        counted: "from-start",
        work: { uniform: [5, 30] },
        busy: true,
      },
    },
  },
} as const satisfies SenderKind;
