import type { SenderKind } from "./kind.ts";
import { asProxies, hasImage, namedAt } from "./recognising.ts";

export const haproxy = {
  name: "haproxy",
  serves: "class",
  consumer: {
    usage: "haproxy=SOCKET",
    help: "the master's CLI, or the runtime API, by the path of its Unix socket or HOST:PORT",
    reads: [
      {
        what: "`show servers state` of each worker by the master's CLI, or of one by its runtime API",
        letGoWhen: "each server with it is in maintenance, in old workers after a reload, too",
      },
    ],
  },
  programs: [
    {
      who: "the ingress controller of HAProxy",
      classes: ["haproxy.org/ingress-controller", "haproxy-ingress.github.io/controller"],
      isProxy: (pod) => hasImage(pod, /haproxytech\/kubernetes-ingress|\/haproxy-ingress(?:[:@]|$)/),
      consumer: "haproxy=SOCKET",
      needs: "SOCKET is the CLI of its master: HOST:PORT, or a path in a volume that both containers mount",
    },
  ],
  recognised: [
    {
      need: "proxy/haproxy",
      who: "the ingress controller of HAProxy",
      reader: "haproxy=SOCKET",
      converges: asProxies,
      source: "haproxytech/kubernetes-ingress: crs/definition",
      objects: ["v1", "v3"].map((version) => ({
        group: `ingress.${version}.haproxy.org`,
        versions: [version],
        kind: "TCP",
        plural: "tcps",
        read: namedAt("service", "services"),
      })),
    },
  ],
} as const satisfies SenderKind;
