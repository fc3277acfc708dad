import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "../../cluster/index.ts";
import { contour } from "../../ingress/envoy/contour.ts";
import { during, type Scenario } from "../../matrix/scenarios.ts";

const ofContour = (cluster: Cluster, ...args: readonly string[]): Promise<string> =>
  cluster.kubectl([...args, "-n", contour.namespace]);

const again = (cluster: Cluster): Promise<string> =>
  ofContour(cluster, "rollout", "status", "deployment/contour", "--timeout=120s");

/** A rollout while Contour itself is not as it should be: its Envoys go on with what they were told. For its routes only. */
export const contourSituations: readonly Scenario[] = [
  during("contour-rolled", "rollout restart; rollout restart of Contour", async ({ cluster }) => {
    await ofContour(cluster, "rollout", "restart", "deployment/contour");
    await again(cluster);
  }),
  during("contour-killed", "rollout restart; both replicas of Contour killed", async ({ cluster }) => {
    await ofContour(cluster, "delete", "pods", "-l", "app=contour", "--force", "--grace-period=0");
    await again(cluster);
  }),
  during("contour-away", "rollout restart; Envoys without an xDS server for 10 s", async ({ cluster }) => {
    await ofContour(cluster, "scale", "deployment/contour", "--replicas=0");
    await sleep(10_000);
    await ofContour(cluster, "scale", "deployment/contour", "--replicas=2");
    await again(cluster);
  }),
];
