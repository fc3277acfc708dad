import type { SenderKind } from "./kind.ts";
import { watchDelay } from "./preset.ts";
import { hasImage, wordsOf } from "./recognising.ts";

export const ingressNginx = {
  name: "ingress-nginx",
  namesServices: ["nginx.ingress.kubernetes.io/default-backend"],
  serves: "class",
  consumer: {
    usage: "ingress-nginx[=URL]",
    help: "the status server of its pod (http://127.0.0.1:10246)",
    reads: [
      {
        what: "`/configuration/backends` of the status server, and nginx's workers",
        letGoWhen: "no backend lists it, and each worker has had the time to copy the list",
        basis: "evidence",
      },
    ],
  },
  programs: [
    {
      who: "ingress-nginx",
      classes: ["k8s.io/ingress-nginx"],
      isProxy: (pod) =>
        hasImage(pod, /ingress-nginx\/controller/) ||
        pod.containers.some((one) => wordsOf(one).some((word) => word.endsWith("/nginx-ingress-controller"))),
      consumer: "ingress-nginx",
      sharesProcesses: true,
    },
  ],
  presets: {
    "ingress-nginx": {
      summary: "ingress-nginx: at most 0.3 syncs a second, then Lua workers that look every second",
      source: "ingress-nginx rootfs/etc/nginx/lua/balancer.lua, PR 1800",
      forwarder: {
        kind: "periodic",
        watch: watchDelay,
        every: 3_333,
        counted: "from-start",
        work: { uniform: [10, 50] },
        busy: true,
        dataPlane: { uniform: [0, 1_000] },
      },
    },
  },
} as const satisfies SenderKind;
