import type { DrainOptions } from "@lameduck/drain";
import { senderRates, type Scenario } from "../model/scenario.ts";
import type { Losses, Outcome } from "../model/termination.ts";
import type { Trace } from "../model/trace.ts";
import { simulateWorld } from "../model/world.ts";
import { runInParallel } from "../parallel/run.ts";
import { FixedDelays, shortestDelay } from "../fixed-delay.ts";
import type { Contender } from "../policies/stopper.ts";
import { rolloutTime, meanConvergence, traceOf, type Run } from "../run.ts";
import { sweeps, usualContenders } from "./contenders.ts";
import { interval, mean, quantile, type Interval } from "./statistics.ts";

interface SimulateOptions {
  readonly scenario: Scenario;
  /** The user's own policy, played beside the usual ones. */
  readonly policy?: DrainOptions | undefined;
  readonly seed: number;
  readonly onProgress?: ((done: number, of: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface PolicyResult {
  readonly policy: string;
  readonly description: string;
  readonly lostPerTermination: Interval;
  /** Mean per termination, by cause: C1 listener closed, C2 pod gone, C3 keep-alive race, C4 in flight. */
  readonly lostByCause: Readonly<Record<"C1" | "C2" | "C3" | "C4", number>>;
  /** Share of terminations that lost anything. */
  readonly anyLost: number;
  /** Lost requests divided by the request rate through the terminated pods, seconds. */
  readonly weff: number;
  /** Deletion to stop, milliseconds. */
  readonly hold: { readonly mean: number; readonly p50: number; readonly p90: number; readonly max: number };
  readonly killed: number;
  /** First deletion of a rollout to the end of its last pod, milliseconds. */
  readonly rolloutTime: number;
  readonly reasons: Readonly<Record<string, number>>;
  readonly holds: readonly number[];
  /** The shortest fixed delay that loses no more than this, had one known: milliseconds, and undefined where no delay below the cap does. */
  readonly fixedForSameLoss: number | undefined;
}

export interface FrontierPoint {
  readonly policy: string;
  readonly hold: number;
  readonly lost: number;
}

export interface Simulation {
  readonly schema: "lameduck.simulation/v1";
  readonly scenario: Scenario;
  readonly seed: number;
  readonly terminations: number;
  readonly arrivals: number;
  readonly conflicts: number;
  readonly oracle: {
    readonly mean: number;
    readonly p50: number;
    readonly p90: number;
    readonly max: number;
  };
  readonly policies: readonly PolicyResult[];
  readonly frontier: {
    readonly fixed: FrontierPoint[];
    readonly quiet: FrontierPoint[];
    readonly adaptive: FrontierPoint[];
  };
  /** Share of the traffic to a terminated pod that still comes, by time since its deletion. */
  readonly survival: readonly { readonly at: number; readonly share: number }[];
  /** One termination: when each sender let go, arrivals, and each policy's stop. */
  readonly example: {
    readonly convergence: readonly number[];
    readonly arrivals: readonly number[];
    readonly stops: readonly { readonly policy: string; readonly at: number }[];
  };
}

/** Plays a scenario under all policies, on the same arrivals. */
export async function simulate(options: SimulateOptions): Promise<Simulation> {
  const { scenario, seed } = options;
  const world = simulateWorld(scenario, seed);
  const convergence = meanConvergence(scenario, world);
  const named = usualContenders(scenario, options.policy, convergence);
  const swept = sweeps(scenario);
  const contenders = [...named, ...swept.fixed, ...swept.quiet];
  const played = await runInParallel(scenario, contenders, {
    seed,
    world,
    ...(options.onProgress ? { onProgress: options.onProgress } : {}),
    ...(options.signal ? { signal: options.signal } : {}),
  });
  const points = pointsOf(contenders, played);
  const delays = new FixedDelays(scenario, world, seed);
  // One curve of the picture, and by far the dearest: fewer terminations draw it as well.
  const few = { ...scenario, terminations: Math.min(scenario.terminations, 40) };
  const budgets = options.signal?.aborted
    ? []
    : pointsOf(swept.adaptive, await runInParallel(few, swept.adaptive, { seed }));
  const from = named.length;
  const upTo = from + swept.fixed.length;
  return {
    schema: "lameduck.simulation/v1",
    scenario,
    seed,
    terminations: played.outcomes[0]?.length ?? 0,
    arrivals: played.arrivals,
    conflicts: played.world.conflicts,
    oracle: summary(played.oracles),
    policies: named.map((contender, index) =>
      resultOf(contender, played.outcomes[index]!, played, delays, seed),
    ),
    frontier: {
      fixed: points.slice(from, upTo),
      quiet: points.slice(upTo, upTo + swept.quiet.length),
      adaptive: budgets,
    },
    survival: survivalOf(played),
    example: exampleOf(traceOf(scenario, world, seed, 0), named, played.outcomes),
  };
}

function pointsOf(contenders: readonly Contender[], played: Run): FrontierPoint[] {
  return contenders.map((contender, index) => {
    const outcomes = played.outcomes[index]!;
    return { policy: contender.name, hold: mean(outcomes.map(holdOf)), lost: mean(outcomes.map(lostOf)) };
  });
}

/** Requests lost after a stop, their expectation where that is less noisy, and everything else as it happened. */
function lostOf({ expectedLost, losses }: Outcome): number {
  return expectedLost + losses.keepAlive + losses.inFlight;
}

function holdOf({ hold }: Outcome): number {
  return hold;
}

function resultOf(
  contender: Contender,
  outcomes: readonly Outcome[],
  played: Run,
  delays: FixedDelays,
  seed: number,
): PolicyResult {
  const lost = outcomes.map(lostOf);
  const cause = (name: keyof Losses): number => mean(outcomes.map(({ losses }) => losses[name]));
  const holds = outcomes.map(holdOf).sort((a, b) => a - b);
  const reasons: Record<string, number> = {};
  for (const { reason } of outcomes) reasons[reason] = (reasons[reason] ?? 0) + 1;
  const { traffic } = played.scenario;
  const rate = traffic.perPod + (traffic.pooled?.perPod ?? 0);
  return {
    policy: contender.name,
    description: contender.description,
    lostPerTermination: interval(lost, seed),
    lostByCause: { C1: cause("stale"), C2: cause("gone"), C3: cause("keepAlive"), C4: cause("inFlight") },
    anyLost: mean(outcomes.map(({ lost: each }) => Number(each > 0))),
    weff: rate > 0 ? mean(lost) / rate : 0,
    hold: summary(holds),
    killed: outcomes.filter(({ killed }) => killed).length,
    rolloutTime: rolloutTime(outcomes, played),
    reasons,
    holds,
    fixedForSameLoss: fixedFor(mean(lost), delays, played.scenario),
  };
}

function summary(values: readonly number[]): PolicyResult["hold"] {
  const sorted = [...values].sort((a, b) => a - b);
  return {
    mean: mean(sorted),
    p50: quantile(sorted, 0.5),
    p90: quantile(sorted, 0.9),
    max: sorted.at(-1) ?? 0,
  };
}

function fixedFor(lost: number, delays: FixedDelays, { terminations, pod }: Scenario): number | undefined {
  // A policy that lost nothing here is given what one lost request in all terminations would come to.
  const bar = Math.max(lost, 1 / terminations / 10);
  const lostAfter = (delay: number): number => delays.lostAfter(delay);
  return lostAfter(pod.grace) > bar ? undefined : shortestDelay(lostAfter, bar, pod.grace).hold;
}

function survivalOf({ scenario, world, oracles }: Run): { at: number; share: number }[] {
  const rates = senderRates(scenario);
  const total = rates.reduce((sum, rate) => sum + rate, 0);
  const end = Math.max(1, ...oracles);
  const points = 80;
  const still = Array.from({ length: points + 1 }, () => 0);
  for (const times of world.convergence)
    for (let sender = 0; sender < rates.length; sender++) {
      const last = Math.min(points, Math.floor((times[sender]! / end) * points));
      for (let point = 0; point <= last; point++) still[point]! += rates[sender]!;
    }
  return still.map((sum, point) => ({
    at: (point / points) * end,
    // Sums of many shares come out a little above 1.
    share: total > 0 ? Math.min(1, sum / total / scenario.terminations) : 0,
  }));
}

function exampleOf(
  { convergence, times, first }: Trace,
  contenders: readonly Contender[],
  outcomes: Run["outcomes"],
): Simulation["example"] {
  return {
    convergence: [...convergence.subarray(0, 200)],
    arrivals: [...times.subarray(first, first + 2_000)],
    stops: contenders.map(({ name }, index) => ({ policy: name, at: outcomes[index]![0]?.hold ?? 0 })),
  };
}
