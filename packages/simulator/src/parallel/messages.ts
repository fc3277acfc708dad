import type { Scenario } from "../model/scenario.ts";
import type { World } from "../model/world.ts";
import type { Recipe } from "../policies/stopper.ts";
import type { Part } from "../run.ts";

/** What a worker is given once. */
export interface Assignment {
  readonly scenario: Scenario;
  readonly world: World;
  readonly recipes: readonly Recipe[];
  readonly seed: number;
}

/** Terminations that one worker plays in a row. */
export interface Job {
  readonly from: number;
  readonly to: number;
  /** Indices of the contenders. */
  readonly contenders: readonly number[];
}

/** From a worker: `undefined` after each termination, and what was played after the last. */
export type FromWorker = Part | undefined;
