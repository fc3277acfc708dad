import type { SenderKind } from "./kind.ts";
import { watchDelay } from "./preset.ts";

export const traefik = {
  name: "traefik",
  serves: "class",
  consumer: {
    usage: "traefik=URL",
    help: "API, such as http://127.0.0.1:8080",
    reads: [{ what: "`/api/rawdata`", letGoWhen: "no service lists it" }],
  },
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
