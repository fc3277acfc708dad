import { firstAbove } from "../kernel/search.ts";
import type { Random } from "../kernel/random.ts";
import { draw, meanOf, type Distribution } from "@lameduck/load/propagation";

/** A pod that does not always get a processor: its event loop stands still, and then everything that came meanwhile is seen at once. */
export interface StallsModel {
  /** Part of the time, drawn anew for each termination: rollouts begin busier than they end. */
  readonly share: Distribution;
  readonly length: Distribution;
}

/** Nothing of a pod's hold would be left with more. */
const mostShare = 0.9;

/** When the event loop of one pod stood still, drawn lazily. */
export class Stalls {
  readonly #random: Random;
  readonly #length: Distribution;
  readonly #meanRun: number;
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  #until: number;

  constructor(model: StallsModel, from: number, random: Random) {
    this.#random = random;
    this.#length = model.length;
    const share = Math.min(mostShare, Math.max(0, draw(model.share, random)));
    this.#meanRun = share > 0 ? (meanOf(model.length) * (1 - share)) / share : Infinity;
    this.#until = from;
  }

  /** @returns `at`, or the end of the stall that it falls into. */
  seen(at: number): number {
    const index = this.#lastBegunBy(at);
    return index < 0 ? at : Math.max(at, this.#ends[index]!);
  }

  /** Index of the last stall that began at `at` or before, -1 if none did. */
  #lastBegunBy(at: number): number {
    while (this.#until <= at) this.#extend();
    return firstAbove(this.#starts, at) - 1;
  }

  #extend(): void {
    if (this.#meanRun === Infinity) {
      this.#until = Infinity;
      return;
    }
    const start = this.#until + this.#random.exponential(this.#meanRun);
    this.#until = start + draw(this.#length, this.#random);
    this.#starts.push(start);
    this.#ends.push(this.#until);
  }
}
