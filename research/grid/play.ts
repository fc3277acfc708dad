import { drainDefaults, type DrainOptions } from "@lameduck/drain";
import type { Outcome } from "../../packages/simulator/src/model/termination.ts";
import { simulateWorld } from "../../packages/simulator/src/model/world.ts";
import { drained } from "../../packages/simulator/src/policies/drained.ts";
import { FixedDelays, shortestDelay } from "../../packages/simulator/src/fixed-delay.ts";
import { istio, wStar } from "../../packages/simulator/src/policies/competitors.ts";
import { learning } from "../../packages/simulator/src/policies/learning.ts";
import type { Contender } from "../../packages/simulator/src/policies/stopper.ts";
import { meanConvergence, run, type Run } from "../../packages/simulator/src/run.ts";
import { mean } from "../../packages/simulator/src/simulate/statistics.ts";
import { gridGrace, scenarioOf, type Cell } from "./cells.ts";

/** Fixed before the first run and not touched since: what counts as "not worse". */
export const gridMargins = {
  /** Losses per termination below this are called equal: 100 terminations cannot tell smaller ones apart. */
  loss: 0.01,
  /** A hold may be longer than the best other one by this factor and this much (ms). */
  factor: 1.05,
  slack: 250,
  /** Where rate x mean convergence / senders is at least this, the hold is held against the oracle ... */
  informative: 30,
  /** ... and may be this many times as long, and this much (ms). */
  oracleFactor: 1.5,
  oracleSlack: 1_000,
} as const;

export interface Point {
  readonly lost: number;
  readonly hold: number;
}

export interface PlayedCell extends Cell {
  readonly oracle: number;
  /** Mean convergence time of one sender. */
  readonly convergence: number;
  readonly adaptive: Point;
  /** With what 25 earlier terminations of the same cell taught. */
  readonly learnt: Point;
  readonly sleep5: Point;
  readonly sleep15: Point;
  readonly quiet5: Point;
  readonly quiet15: Point;
  readonly knative: Point;
  readonly wStar: Point;
  readonly istio: Point;
  /** The shortest fixed delay that, tuned to this very cell in hindsight, loses no more than the margin. */
  readonly bestFixed: Point;
  readonly bestQuiet: Point;
  /** Every delay and every window of the ladder, for a choice over many cells. */
  readonly fixed: readonly Point[];
  readonly quiet: readonly Point[];
}

const lessons = 25;
/** Delays and quiet windows, ms. */
export const ladder = [
  20, 50, 100, 200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000, 5_000, 8_000, 12_000, 20_000, 30_000, 60_000,
];
const unbounded = { grace: gridGrace, reserve: 0, floor: 0 } satisfies DrainOptions;

export function playCell(cell: Cell, terminations: number, seed: number): PlayedCell {
  const scenario = scenarioOf(cell, terminations);
  const few = scenarioOf(cell, 60);
  const convergence = meanConvergence(few, simulateWorld(few, seed + 1));
  const school = learning("adaptive, learning", unbounded);
  run(scenarioOf(cell, lessons), [school], { seed: seed + 2 });
  const learnt = school.learnt();
  const contenders: Contender[] = [
    drained("adaptive", unbounded),
    drained("learnt", { ...unbounded, ...(learnt ? { learnt } : {}) }),
    drained("sleep 5", { ...unbounded, policy: "fixed", delay: "5s" }),
    drained("sleep 15", { ...unbounded, policy: "fixed", delay: "15s" }),
    drained("quiet 5", { ...unbounded, policy: "quiet", window: "5s" }),
    drained("quiet 15", { ...unbounded, policy: "quiet", window: "15s" }),
    drained("knative", { ...unbounded, policy: "quiet", window: "30s" }),
    wStar(convergence, drainDefaults.lossBudget, gridGrace),
    istio(),
    ...ladder.map((window) => drained(`quiet ${window}`, { ...unbounded, policy: "quiet", window })),
  ];
  const played = run(scenario, contenders, { seed });
  const points = played.outcomes.map(pointOf);
  const [adaptive, taught, sleep5, sleep15, quiet5, quiet15, knative, star, exitOnZero, ...quiets] =
    points as [Point, Point, Point, Point, Point, Point, Point, Point, Point, ...Point[]];
  const delays = new FixedDelays(scenario, played.world, seed);
  return {
    ...cell,
    oracle: mean(played.oracles),
    convergence,
    adaptive,
    learnt: taught,
    sleep5,
    sleep15,
    quiet5,
    quiet15,
    knative,
    wStar: star,
    istio: exitOnZero,
    bestFixed: shortestDelay((delay) => delays.lostAfter(delay), gridMargins.loss, gridGrace),
    fixed: ladder.map((delay) => ({ lost: delays.lostAfter(delay), hold: delay })),
    quiet: quiets,
    bestQuiet: quiets
      .filter(({ lost }) => lost <= gridMargins.loss)
      .reduce((best, point) => (point.hold < best.hold ? point : best), { lost: 0, hold: Infinity }),
  };
}

export type Held = Pick<Outcome, "hold" | "expectedLost">;

export function pointOf(outcomes: readonly Held[]): Point {
  return {
    lost: mean(outcomes.map(({ expectedLost }) => expectedLost)),
    hold: mean(outcomes.map(({ hold }) => hold)),
  };
}

/** For Poisson arrivals the loss of a fixed delay in one termination is known exactly from the convergence times. */
export function lostInOne(
  { world }: Run,
  { rate, senders }: Load,
  delay: number,
  termination: number,
): number {
  let sum = 0;
  for (const time of world.convergence[termination]!) sum += Math.max(0, time - delay);
  return (rate / 1_000 / senders) * sum;
}

type Load = Pick<Cell, "rate" | "senders">;
