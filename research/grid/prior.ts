import { priorHypotheses, drainDefaults, type DrainOptions, type Hypothesis } from "@lameduck/drain";
import type { Distribution } from "@lameduck/load/propagation";
import { defaultEndpoints, type Scenario } from "../../packages/simulator/src/model/scenario.ts";
import { drained } from "../../packages/simulator/src/policies/drained.ts";
import { FixedDelays, shortestDelay } from "../../packages/simulator/src/fixed-delay.ts";
import { run } from "../../packages/simulator/src/run.ts";
import type { Point } from "./play.ts";

/** Senders and rates (per pod and second) that every hypothesis is played with. */
export const priorAxes = { senders: [3, 20], rates: [0.1, 1, 10, 100] } as const;

export interface PriorResult {
  readonly rate: number;
  readonly adaptive: Point;
  /** The fixed delay that loses as much in the same terminations. */
  readonly fixed: Point;
  /** The shortest quiet window of the ladder that loses no more. */
  readonly quiet: (Point & { readonly window: number }) | undefined;
}

const windows = [1, 2, 3, 5, 8, 12, 20, 30, 45, 60, 90, 120, 180, 240].map((s) => s * 1_000);
const grace = 3_600_000;
const unbounded = { grace, reserve: 0, floor: 0 } satisfies DrainOptions;

/**
 * All opponents know what the rule knows: that the environment is one of its hypotheses, and how likely each is. Each
 * hypothesis is played with every policy and counts by its weight. Of the opponents, the settings that lose as much as the rule
 * are taken.
 */
export function playPrior(terminations: number, seed: number, rate: number): PriorResult {
  const policies = [
    drained("adaptive", unbounded),
    ...windows.map((window) => drained(`quiet ${window}`, { ...unbounded, policy: "quiet", window })),
  ];
  const sums = policies.map(() => ({ lost: 0, hold: 0 }));
  const lostByDelay: ((delay: number) => number)[] = [];
  for (const hypothesis of priorHypotheses())
    for (const senders of priorAxes.senders) {
      const played = run(scenarioOfHypothesis(hypothesis, senders, rate, terminations), policies, { seed });
      const weight = hypothesis.weight / priorAxes.senders.length;
      for (const [index, outcomes] of played.outcomes.entries())
        for (const { expectedLost, hold } of outcomes) {
          sums[index]!.lost += (weight / terminations) * expectedLost;
          sums[index]!.hold += (weight / terminations) * hold;
        }
      const delays = new FixedDelays(played.scenario, played.world, seed);
      lostByDelay.push((delay) => weight * delays.lostAfter(delay));
    }
  const [adaptive, ...quiets] = sums as [Point, ...Point[]];
  const index = quiets.findIndex(({ lost }) => lost <= adaptive.lost);
  return {
    rate,
    adaptive,
    fixed: shortestDelay(
      (delay) => lostByDelay.reduce((sum, lost) => sum + lost(delay), 0),
      adaptive.lost,
      grace,
    ),
    quiet: index < 0 ? undefined : { ...quiets[index]!, window: windows[index]! },
  };
}

export function scenarioOfHypothesis(
  hypothesis: Hypothesis,
  senders: number,
  rate: number,
  terminations: number,
): Scenario {
  const { convergence } = drainDefaults;
  const own = { exponential: hypothesis.mean * convergence };
  const delay: Distribution = { sum: [hypothesis.delay * convergence, own] };
  return {
    name: "hypothesis",
    summary: "",
    replicas: 1,
    terminations,
    rollout: { kind: "isolated" },
    endpoints: { ...defaultEndpoints, latency: 0, cacheLag: 0 },
    senders: [{ name: "sender", count: senders, forwarder: { kind: "delay", delay }, share: 1 }],
    traffic: { perPod: rate, arrivals: { kind: "poisson" }, identity: { kind: "sender" }, service: 0 },
    pod: { watched: 120_000, reaction: 0, grace, prestop: 0, reserve: 0 },
  };
}

export function renderPrior(results: readonly PriorResult[], terminations: number): string {
  const point = ({ lost, hold }: Point): string =>
    `${lost < 1e-6 ? "0" : lost.toPrecision(2)} / ${(hold / 1_000).toFixed(1)}`;
  return [
    "## At equal knowledge",
    "",
    `The opponents know what the rule knows: the environment is one of its 40 hypotheses, and each has a known weight. ${priorAxes.senders.join(" and ")} senders have Poisson arrivals. Each hypothesis has ${terminations} terminations, counted by its weight. The fixed delay loses exactly as much in the same terminations. The quiet window is the shortest of ${windows.length} that loses no more. Loss / hold in s, by \`npm run grid -w research -- --prior\`:`,
    "",
    "| rate/s | adaptive | fixed | quiet |",
    "|---|---|---|---|",
    ...results.map(
      ({ rate, adaptive, fixed, quiet }) =>
        `| ${rate} | ${point(adaptive)} | ${fixed.hold < grace / 2 ? point(fixed) : "none"} | ${quiet ? `${point(quiet)} (${quiet.window / 1_000} s)` : "none up to 240 s"} |`,
    ),
    "",
  ].join("\n");
}
