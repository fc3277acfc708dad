import type { SenderKind } from "./kind.ts";
import { watchDelay } from "./preset.ts";

export const ingressNginx = {
  name: "ingress-nginx",
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
