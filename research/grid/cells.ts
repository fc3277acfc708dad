import { presets, type PresetName } from "@lameduck/load/propagation";
import { defaultEndpoints, type Scenario } from "../../packages/simulator/src/model/scenario.ts";
import type { Arrivals, Identity } from "../../packages/simulator/src/model/trace.ts";

/** Kinds of traffic that the grid distinguishes. */
export const gridTraffic = {
  poisson: { arrivals: { kind: "poisson" }, identity: { kind: "sender" } },
  bursty: { arrivals: { kind: "bursty", cv: 3 }, identity: { kind: "sender" } },
  tiny: { arrivals: { kind: "poisson" }, identity: { kind: "clients", count: 300 } },
  snat: { arrivals: { kind: "poisson" }, identity: { kind: "snat", addresses: 1 } },
  burstier: { arrivals: { kind: "bursty", cv: 5 }, identity: { kind: "sender" } },
  periodic: { arrivals: { kind: "periodic", jitter: 0.1 }, identity: { kind: "sender" } },
} as const satisfies Record<string, { arrivals: Arrivals; identity: Identity }>;

export type GridTraffic = keyof typeof gridTraffic;

export interface Cell {
  readonly preset: PresetName;
  readonly traffic: GridTraffic;
  readonly senders: number;
  /** Per pod and second. */
  readonly rate: number;
}

export interface Axes {
  readonly presets: readonly PresetName[];
  readonly traffic: readonly GridTraffic[];
  readonly senders: readonly number[];
  readonly rates: readonly number[];
}

/** What the rule's constants were tuned on. */
export const gridAxes: Axes = {
  presets: ["ebpf", "idle-kube-proxy", "busy-iptables", "ingress-nginx", "alb"],
  traffic: ["poisson", "bursty", "tiny", "snat"],
  senders: [1, 3, 10, 50, 200],
  rates: [0.01, 0.1, 1, 10, 100, 1_000],
};

/** What they were not: other senders, other traffic, other numbers and, by another seed, other arrivals. */
export const heldOutAxes: Axes = {
  presets: ["skipper", "kube-proxy-5s", "kube-proxy-10s"],
  traffic: ["poisson", "tiny", "burstier", "periodic"],
  senders: [2, 20, 100],
  rates: [0.05, 0.5, 5, 50, 500],
};

export function* gridCells(axes: Axes = gridAxes): Generator<Cell> {
  for (const preset of axes.presets)
    for (const traffic of axes.traffic)
      for (const senders of axes.senders)
        for (const rate of axes.rates) yield { preset, traffic, senders, rate };
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
    pod: { watched: 120_000, reaction: 0, grace: gridGrace, prestop: 0, reserve: 0 },
  };
}

/** Many senders cost the most and vary the least: fewer terminations tell as much. */
export function terminationsOf({ senders }: Cell, terminations: number): number {
  return senders >= 50 ? Math.ceil(terminations * 0.4) : terminations;
}

export function terminationsText(terminations: number): string {
  return `${terminations} terminations each (${Math.ceil(terminations * 0.4)} with 50 and more senders)`;
}
