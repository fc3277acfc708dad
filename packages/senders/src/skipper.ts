import type { SenderKind } from "./kind.ts";
import { asProxies, namedBy } from "./recognising.ts";

export const skipper = {
  name: "skipper",
  programs: [{ who: "Skipper", classes: ["zalando.org/"] }],
  recognised: [
    {
      need: "proxy/skipper",
      who: "Skipper",
      converges: asProxies,
      source: "zalando/skipper: dataclients/kubernetes/deploy/apply/routegroups_crd.yaml",
      objects: [
        {
          group: "zalando.org",
          versions: ["v1"],
          kind: "RouteGroup",
          plural: "routegroups",
          read: namedBy("serviceName"),
        },
      ],
    },
  ],
  presets: {
    skipper: {
      summary: "Skipper: polls the API every 3 s",
      source: "zalando/skipper, kubernetes/ingress-backends: -source-poll-timeout 3000",
      forwarder: { kind: "poll", every: 3_000, work: { uniform: [10, 100] } },
    },
  },
} as const satisfies SenderKind;
