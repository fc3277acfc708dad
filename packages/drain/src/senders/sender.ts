import { LearntHabit, leftHazard } from "../belief/evidence.ts";
import { Gaps } from "./gaps.ts";
import type { Pool } from "./pool.ts";

/** The arrivals of all senders together. */
interface Load {
  readonly gaps: Gaps;
  /** Total length of the pauses: times without an arrival in which many were due. */
  readonly paused: number;
}

/** What is kept of one sender. Times in milliseconds. */
export class Sender {
  readonly gaps = new Gaps();
  last: number;
  /** Its connections from before the hold; undefined until one of them is used. */
  pool: Pool | undefined;
  /** Whether it is weighed by itself. Else its arrivals belong to the aggregate. */
  isSeparate = false;
  /** How many of its arrivals count as the aggregate's. */
  shared = 0;
  /** Its counter in the table; without one it loses its place. */
  counter = 1;
  /** How long all arrivals together had paused by `last`. */
  #paused: number;

  constructor(at: number, paused: number) {
    this.last = at;
    this.#paused = paused;
  }

  /** `load`: the gaps of all arrivals, and for how long they have paused so far. */
  arrived(at: number, load: Load, held: boolean): void {
    this.pool?.connection(at);
    this.counter++;
    this.gaps.add(Math.max(0, at - this.last - this.#sharedPause(load)), held);
    this.last = Math.max(this.last, at);
    this.#paused = load.paused;
  }

  /**
   * How long all arrivals have paused since its last one; 0 where the others may have been silent by chance. Such a pause is no habit of this
   * sender.
   */
  #sharedPause({ gaps, paused }: Load): number {
    const pause = paused - this.#paused;
    if (pause <= 0) return 0;
    const others = new LearntHabit(gaps.count - this.gaps.count, gaps.exposure, gaps.longest);
    return others.hazard(pause) > leftHazard ? pause : 0;
  }

  /**
   * Whether it had left before the deletion: such a silence had a chance of 1e-9. A sender of long standing has left for good. A newer one was on a
   * visit, and may come again.
   */
  hasLeft(idle: number): boolean {
    return this.gaps.count > 0 && this.gaps.habit().hazard(idle) > leftHazard;
  }
}

/** All senders that are not separate, as one. */
export class Aggregate extends Sender {
  /** This number of the aggregate's arrivals now belongs to a separate sender. @returns whether no arrivals are left. */
  without(arrivals: number): boolean {
    this.counter -= arrivals;
    this.gaps.count = Math.max(0, this.gaps.count - arrivals);
    return this.counter <= 0;
  }
}
