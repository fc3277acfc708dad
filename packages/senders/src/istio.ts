import type { SenderKind } from "./kind.ts";

export const istio = {
  name: "istio",
  presets: {
    mesh: {
      summary: "Istio sidecars",
      source: "Airbnb, pilot_proxy_convergence_time p90 1.5 s (1.11); debounce of 100 ms not counted in it",
      forwarder: { kind: "delay", delay: { sum: [100, { lognormal: [800, 1_500] }] } },
    },
  },
} as const satisfies SenderKind;
