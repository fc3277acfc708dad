import type { PresetName } from "@lameduck/load/propagation";
import type { Scenario } from "../../packages/simulator/src/model/scenario.ts";
import { gridCells, scenarioOf, type GridTraffic } from "../grid/cells.ts";

/** Environments on which constants were tuned, and others. */
const presetsOf: Readonly<Record<"tuned" | "reported", readonly PresetName[]>> = {
  tuned: ["idle-kube-proxy", "ingress-nginx", "alb"],
  reported: ["skipper", "kube-proxy-5s", "busy-iptables"],
};

export interface AblationCell {
  readonly preset: PresetName;
  /** `pooled`: requests on connections that are kept alive, ten for each new connection. */
  readonly traffic: GridTraffic | "pooled";
  readonly senders: number;
  readonly rate: number;
}

/** Bursts show their effect in cells of their own alone. */
export const cellSets = ["tuned", "reported", "bursts"] as const;

export function* ablationCells(set: (typeof cellSets)[number]): Generator<AblationCell> {
  if (set === "bursts")
    yield* gridCells({
      presets: ["skipper", "kube-proxy-5s", "kube-proxy-10s"],
      traffic: ["bursty", "burstier"],
      senders: [1, 5],
      rates: [1, 10, 100],
    });
  else
    for (const preset of presetsOf[set])
      for (const traffic of ["poisson", "bursty", "tiny", "snat", "pooled"] as const)
        for (const senders of [5, 50]) for (const rate of [1, 20]) yield { preset, traffic, senders, rate };
}

export function scenarioOfAblation({ traffic, ...cell }: AblationCell, terminations: number): Scenario {
  if (traffic !== "pooled") return scenarioOf({ ...cell, traffic }, terminations);
  const scenario = scenarioOf({ ...cell, traffic: "poisson" }, terminations);
  const pooled = { connections: 2, perPod: 10 * cell.rate, oneWay: 0.5 };
  return { ...scenario, traffic: { ...scenario.traffic, pooled } };
}
