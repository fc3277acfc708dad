import { drainDefaults, type DrainOptions } from "@lameduck/drain";
import type { PresetName } from "@lameduck/load/propagation";
import { simulateWorld } from "../../packages/simulator/src/model/world.ts";
import { drained } from "../../packages/simulator/src/policies/drained.ts";
import { FixedDelays } from "../../packages/simulator/src/fixed-delay.ts";
import { istio, wStar } from "../../packages/simulator/src/policies/competitors.ts";
import { meanConvergence, run, type Run } from "../../packages/simulator/src/run.ts";
import { mean } from "../../packages/simulator/src/simulate/statistics.ts";
import { gridAxes, gridCells, gridGrace, scenarioOf, terminationsOf, type Cell } from "./cells.ts";
import { lostInOne, pointOf, type Held, type Point } from "./play.ts";
import { isInformative } from "./verdict.ts";

/** Delays, quiet windows and caps: 20 ms to 2 min, each 12 % above the one before. */
export const ladder = Array.from({ length: 78 }, (_, index) => Math.round(20 * 1.12 ** index));
const budgets = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03];
/** Shares of the cap. */
const floors = [0, 0.25, 0.5, 0.75, 1];
const unbounded = { grace: gridGrace, reserve: 0, floor: 0 } satisfies DrainOptions;

export interface Tuned extends Point {
  readonly setting: string;
}

/** What every setting of every policy comes to, on average over the preset's cells. */
export interface TunedPreset {
  readonly preset: PresetName;
  readonly oracle: number;
  /** Mean convergence time of one sender, which `adaptive` is told. */
  readonly convergence: number;
  readonly fixed: readonly Tuned[];
  readonly quiet: readonly Tuned[];
  readonly adaptive: readonly Tuned[];
  /** Rules that have nothing to tune. */
  readonly given: readonly Tuned[];
  /** What the settings chosen for the preset come to in each of its cells. */
  readonly inCells: readonly ChosenInCell[];
  /** Cells with evidence enough to be held against the oracle. */
  readonly informative: readonly InformativeCell[];
}

/** Lost per termination at most, on average over a preset's cells, at which the policies are compared. */
export const levels = [0.001, 0.003, 0.01, 0.03] as const;
export type Level = (typeof levels)[number];

export interface ChosenInCell extends Cell {
  /** By level, with the settings chosen for the preset. */
  readonly fixed: readonly Point[];
  readonly quiet: readonly Point[];
  readonly adaptive: readonly Point[];
  readonly given: readonly Point[];
}

export interface InformativeCell extends Cell {
  readonly oracle: number;
  /** With the default budget and no floor, by cap. */
  readonly capped: readonly Point[];
}

interface PlayedSettings extends Omit<TunedPreset, "preset" | "convergence" | "informative" | "inCells"> {
  readonly capped: readonly Point[];
}

export function playTuned(preset: PresetName, terminations: number, seed: number): TunedPreset {
  const convergence = meanOfPreset(preset, seed);
  const cells = [...gridCells({ ...gridAxes, presets: [preset] })];
  const played = cells.map((cell) =>
    playSettings(cell, convergence, terminationsOf(cell, terminations), seed),
  );
  const over = (family: "fixed" | "quiet" | "adaptive" | "given"): Tuned[] =>
    played[0]![family].map(({ setting }, index) => ({
      setting,
      hold: mean(played.map((cell) => cell[family][index]!.hold)),
      lost: mean(played.map((cell) => cell[family][index]!.lost)),
    }));
  const families = { fixed: over("fixed"), quiet: over("quiet"), adaptive: over("adaptive") };
  const chosenIn = (cell: PlayedSettings, family: keyof typeof families): Point[] =>
    levels.map((level) => cell[family][families[family].indexOf(shortest(families[family], level))]!);
  return {
    preset,
    oracle: mean(played.map(({ oracle }) => oracle)),
    convergence,
    ...families,
    given: over("given"),
    inCells: cells.map((cell, index) => ({
      ...cell,
      fixed: chosenIn(played[index]!, "fixed"),
      quiet: chosenIn(played[index]!, "quiet"),
      adaptive: chosenIn(played[index]!, "adaptive"),
      given: played[index]!.given,
    })),
    informative: cells.flatMap((cell, index) => {
      const { oracle, capped } = played[index]!;
      return isInformative(cell, convergence) ? [{ ...cell, oracle, capped }] : [];
    }),
  };
}

function meanOfPreset(preset: PresetName, seed: number): number {
  const scenario = scenarioOf({ preset, senders: 10, rate: 1, traffic: "poisson" }, 400);
  return meanConvergence(scenario, simulateWorld(scenario, seed + 1));
}

function playSettings(cell: Cell, convergence: number, terminations: number, seed: number): PlayedSettings {
  const given = [
    drained("knative (quiet 30)", { ...unbounded, policy: "quiet", window: "30s" }),
    istio(),
    wStar(convergence, drainDefaults.lossBudget, gridGrace),
  ];
  const played = run(
    scenarioOf(cell, terminations),
    [
      ...ladder.map((window) => drained(`quiet ${window}`, { ...unbounded, policy: "quiet", window })),
      ...budgets.map((lossBudget) =>
        drained(`adaptive ${lossBudget}`, { ...unbounded, convergence, lossBudget }),
      ),
      ...given,
    ],
    { seed },
  );
  const delays = new FixedDelays(played.scenario, played.world, seed);
  const quiet = played.outcomes.slice(0, ladder.length);
  const adaptive = played.outcomes.slice(ladder.length, -given.length);
  return {
    oracle: mean(played.oracles),
    capped: ladder.map((cap) =>
      pointOf(adaptive[budgets.indexOf(drainDefaults.lossBudget)]!.map(bounded(played, cell, 0, cap))),
    ),
    fixed: ladder.map((hold) => ({ setting: seconds(hold), hold, lost: delays.lostAfter(hold) })),
    quiet: ladder.map((window, index) => ({ setting: seconds(window), ...pointOf(quiet[index]!) })),
    adaptive: budgets.flatMap((budget, index) =>
      ladder.flatMap((cap) =>
        floors.map((share) => ({
          setting: `budget ${budget}, floor ${seconds(share * cap)}, cap ${seconds(cap)}`,
          ...pointOf(adaptive[index]!.map(bounded(played, cell, share * cap, cap))),
        })),
      ),
    ),
    given: given.map(({ name }, index) => ({
      setting: name,
      ...pointOf(played.outcomes.at(index - given.length)!),
    })),
  };
}

/** The shortest of the settings that lose no more than that. */
export function shortest(family: readonly Tuned[], lost: number): Tuned {
  return family
    .filter((tuned) => tuned.lost <= lost)
    .reduce((best, tuned) => (tuned.hold < best.hold ? tuned : best), {
      setting: "none",
      hold: Infinity,
      lost: 0,
    });
}

/** What a hold would have been with a floor and a cap, which change nothing but its end. */
export function bounded(
  played: Run,
  cell: Cell,
  floor: number,
  cap: number,
): (outcome: Held, termination: number) => Held {
  return (outcome, termination) => {
    const hold = Math.min(cap, Math.max(floor, outcome.hold));
    return hold === outcome.hold
      ? outcome
      : { hold, expectedLost: lostInOne(played, cell, hold, termination) };
  };
}

function seconds(milliseconds: number): string {
  return `${+(milliseconds / 1_000).toPrecision(3)} s`;
}
