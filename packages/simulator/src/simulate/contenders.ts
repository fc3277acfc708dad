import { drainDefaults, parseConfig, type DrainOptions } from "@lameduck/drain";
import type { Scenario } from "../model/scenario.ts";
import { bare, drained, withCoordinator, slept } from "../policies/drained.ts";
import { learning } from "../policies/learning.ts";
import { istio, oracle, wStar } from "../policies/competitors.ts";
import type { Contender } from "../policies/stopper.ts";

/** The remedies that every simulation compares, in the pod's own grace period. */
export function usualContenders(
  scenario: Scenario,
  own: DrainOptions | undefined,
  convergence: number,
): Contender[] {
  const { grace, prestop, reserve } = scenario.pod;
  const pod = { grace, prestop, reserve } satisfies DrainOptions;
  const { cap } = parseConfig(pod);
  const sleeps = [2_000, 5_000, 15_000].filter((delay) => delay < cap);
  return [
    slept("nothing", pod, 0, "closes at SIGTERM"),
    ...sleeps.map((delay) =>
      slept(`sleep ${delay / 1_000}`, pod, delay, `waits ${delay / 1_000} s, whatever happens`),
    ),
    drained(
      "until-deadline",
      { ...pod, policy: "until-deadline" },
      "serves until the grace period is nearly over",
    ),
    drained("quiet 5", { ...pod, policy: "quiet", window: "5s" }, "stops after 5 s without an arrival"),
    bare(
      "knative",
      { ...pod, policy: "quiet", window: "30s", floor: 0 },
      "Knative's queue-proxy: 30 s without a request",
    ),
    istio(),
    wStar(convergence, drainDefaults.lossBudget, cap),
    drained("adaptive", pod, "Lameduck's default"),
    learning("adaptive, learning", pod, "the same, each termination teaching the next"),
    ...(scenario.acknowledgements ? acknowledged(pod) : []),
    ...(own
      ? [(scenario.acknowledgements ? withCoordinator : drained)("yours", own, "the policy in the scenario")]
      : []),
    oracle(),
  ];
}

/** Both policies that hear what consumers report. */
export function acknowledged(pod: DrainOptions): Contender[] {
  return [
    withCoordinator(
      "adaptive, told",
      pod,
      "Lameduck's default, which stops earlier once all senders have stopped sending",
    ),
    withCoordinator(
      "acknowledged",
      { ...pod, policy: "acknowledged" },
      "stops once all senders have stopped sending",
    ),
  ];
}

/** Fixed delays and quiet windows of every length, for the frontier of what can be had by tuning them. */
export function sweeps(scenario: Scenario): {
  fixed: Contender[];
  quiet: Contender[];
  adaptive: Contender[];
} {
  const { grace, prestop, reserve } = scenario.pod;
  const pod = { grace, prestop, reserve } satisfies DrainOptions;
  const { cap } = parseConfig(pod);
  const lengths = [
    100, 200, 500, 1_000, 1_500, 2_000, 3_000, 4_000, 6_000, 8_000, 12_000, 16_000, 20_000, 30_000, 60_000,
    120_000,
  ].filter((length) => length < cap);
  return {
    fixed: lengths.map((delay) => slept(`sleep ${delay / 1_000}`, pod, delay)),
    quiet: lengths.map((window) =>
      drained(`quiet ${window / 1_000}`, { ...pod, policy: "quiet", window, floor: 0 }),
    ),
    adaptive: [1, 0.1, 0.01, 0.001].map((lossBudget) =>
      drained(`adaptive, budget ${lossBudget}`, { ...pod, lossBudget, floor: 0 }),
    ),
  };
}
