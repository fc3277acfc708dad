import { setTimeout as sleep } from "node:timers/promises";
import { during, type Scenario } from "../../matrix/scenarios.ts";

const pauseMs = 3_000;

/** ingress-nginx writes another nginx.conf, so nginx starts new workers, and the old finish what they have. For its routes only. */
export const ingressNginxSituations: readonly Scenario[] = [
  during(
    "ingress-nginx-reloaded",
    "rollout restart; ingress-nginx reloads again and again",
    async ({ cluster }) => {
      for (const keepAlive of ["71", "72", "73", "74", "75"]) {
        const patch = JSON.stringify({ data: { "keep-alive": keepAlive } });
        const settings = ["configmap", "ingress-nginx-controller", "-n", "ingress-nginx"];
        await cluster.kubectl(["patch", ...settings, "--type=merge", "-p", patch]);
        await sleep(pauseMs);
      }
    },
  ),
];
