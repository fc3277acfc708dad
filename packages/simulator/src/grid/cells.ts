import { presets, type PresetName } from "../model/presets.ts";
import { defaultEndpoints, type Scenario } from "../model/scenario.ts";
import type { Arrivals, Identity } from "../model/traffic.ts";

/** Kinds of traffic that the grid distinguishes. */
export const gridTraffic = {
  poisson: { arrivals: { kind: "poisson" }, identity: { kind: "sender" } },
  bursty: { arrivals: { kind: "bursty", cv: 3 }, identity: { kind: "sender" } },
  tiny: { arrivals: { kind: "poisson" }, identity: { kind: "clients", count: 300 } },
  snat: { arrivals: { kind: "poisson" }, identity: { kind: "snat", addresses: 1 } },
} as const satisfies Record<string, { arrivals: Arrivals; identity: Identity }>;

export type GridTraffic = keyof typeof gridTraffic;

export interface Cell {
  readonly preset: PresetName;
  readonly traffic: GridTraffic;
  readonly senders: number;
  /** Per pod and second. */
  readonly rate: number;
}

export const gridAxes = {
  presets: ["ebpf", "idle-kube-proxy", "busy-iptables", "ingress-nginx", "alb"],
  senders: [1, 3, 10, 50, 200],
  rates: [0.01, 0.1, 1, 10, 100, 1_000],
} as const satisfies { presets: readonly PresetName[]; senders: readonly number[]; rates: readonly number[] };

export function* gridCells(): Generator<Cell> {
  for (const preset of gridAxes.presets)
    for (const traffic of Object.keys(gridTraffic) as GridTraffic[])
      for (const senders of gridAxes.senders)
        for (const rate of gridAxes.rates) yield { preset, traffic, senders, rate };
}

/** Holds are not cut: the grid compares rules, not grace periods. */
export const gridGrace = 600_000;

export function scenarioOf(cell: Cell, terminations: number): Scenario {
  return {
    name: `${cell.preset}/${cell.traffic}/${cell.senders}/${cell.rate}`,
    summary: "",
    replicas: 1,
    terminations,
    rollout: { kind: "isolated" },
    endpoints: { ...defaultEndpoints, cacheLag: 0 },
    senders: [
      { name: cell.preset, count: cell.senders, forwarder: presets[cell.preset].forwarder, share: 1 },
    ],
    traffic: { perPod: cell.rate, ...gridTraffic[cell.traffic], service: 0 },
    pod: { watched: 120_000, grace: gridGrace, prestop: 0, reserve: 0 },
  };
}
