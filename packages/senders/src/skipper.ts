import type { SenderKind } from "./kind.ts";

export const skipper = {
  name: "skipper",
  presets: {
    skipper: {
      summary: "Skipper: polls the API every 3 s",
      source: "zalando/skipper, kubernetes/ingress-backends: -source-poll-timeout 3000",
      forwarder: { kind: "poll", every: 3_000, work: { uniform: [10, 100] } },
    },
  },
} as const satisfies SenderKind;
