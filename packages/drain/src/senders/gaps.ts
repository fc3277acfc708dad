import { LearntHabit, leftHazard } from "../belief/evidence.ts";

/** Habits older than this fade: traffic of last night says little about this minute. */
export const horizonMs = 120_000;

/** Shorter gaps are no pauses but stalls of a machine, which come again and may count as habit. */
const shortestPauseMs = 3_000;
/**
 * A lull is a pause only after this many gaps: the burst of one sender must not stand for its habit. All senders
 * together are not in one burst.
 */
export const fewest = { ofOne: 50, ofAll: 0 } as const;

/** Weight of the latest gap in the mean of recent ones: some 15 of them count. */
const recency = 1 / 8;

/** Gaps between arrivals, and what they come to. */
export class Gaps {
  count = 0;
  exposure = 0;
  /** Mean of the latest gaps, the latest counting most. */
  recent = 0;
  #longest = 0;
  /** The longest gap before the latest fading. */
  #longestBefore = 0;
  #pauses = 0;
  #longestPause = 0;

  /**
   * @returns whether the gap was a pause. A pause is a gap whose chance, judged by the other gaps, is below that of `leftHazard`. Pauses
   * are counted apart. In a hold no gap is a pause, since a long one may mean that the sender has left.
   */
  add(gap: number, held: boolean, least: number = fewest.ofOne): boolean {
    if (!held && this.count >= least && gap > shortestPauseMs && this.#usual.hazard(gap) > leftHazard) {
      this.#pauses++;
      this.#longestPause = Math.max(this.#longestPause, gap);
      return true;
    }
    this.count++;
    this.exposure += gap;
    this.#longest = Math.max(this.#longest, gap);
    if (this.exposure > horizonMs) this.#fade();
    this.recent = this.count === 1 ? gap : this.recent + recency * (gap - this.recent);
    return false;
  }

  get longest(): number {
    return Math.max(this.#longest, this.#longestBefore);
  }

  /** Whether the gaps took more time than the horizon. */
  get areOfLongStanding(): boolean {
    return this.#longestBefore > 0;
  }

  /** @param idle time since the last arrival. @param share of the arrivals that counts. */
  habit(idle = 0, share = 1): LearntHabit {
    const pauses = this.#pauses / (this.#pauses + this.count);
    return new LearntHabit(this.count * share, this.exposure + idle, this.longest / share, {
      share: this.#pauses > 0 ? pauses : 0,
      longest: this.#longestPause,
    });
  }

  get #usual(): LearntHabit {
    return new LearntHabit(this.count, this.exposure, this.longest);
  }

  /** Halves what is kept. The longest gap is known until the next fading, however long it was. */
  #fade(): void {
    const part = 0.5 ** Math.ceil(Math.log2(this.exposure / horizonMs));
    this.count *= part;
    this.exposure *= part;
    this.#pauses *= part;
    this.#longestBefore = this.#longest;
    this.#longest = 0;
  }
}
