import { LearntHabit } from "../belief/evidence.ts";

/** Habits older than this fade: traffic of last night says little about this minute. */
export const horizon = 120_000;

/** A gap that is so many times as long as the longest of so many others is a pause, and no habit: by chance alone not one in thousands is. */
const outlying = 4;
/** Shorter ones, ms, are stalls of a machine: those come again, and do no harm as a habit. */
const shortestPause = 3_000;
const fewest = 50;

/** Gaps between arrivals, and what they come to. */
export class Gaps {
  count = 0;
  exposure = 0;
  #longest = 0;
  /** Of the time before the latest half of what is kept. */
  #longestBefore = 0;
  /** From how many the longest is known. */
  #compared = 0;
  #pauses = 0;
  #longestPause = 0;

  /** @returns whether it was a pause, which is counted apart. In a hold nothing is: there a long gap may be the beginning of the end. */
  add(gap: number, held: boolean): boolean {
    if (!held && this.#compared >= fewest && gap > Math.max(shortestPause, outlying * this.longest)) {
      this.#pauses++;
      this.#longestPause = Math.max(this.#longestPause, gap);
      return true;
    }
    this.count++;
    this.#compared++;
    this.exposure += gap;
    this.#longest = Math.max(this.#longest, gap);
    if (this.exposure > horizon) this.#fade();
    return false;
  }

  /** Arrivals of which no more is known than in how much time they came. */
  take(count: number, exposure: number): void {
    this.count += count;
    this.exposure += exposure;
  }

  get longest(): number {
    return Math.max(this.#longest, this.#longestBefore);
  }

  /** They were made in more time than the horizon. */
  get areOfLongStanding(): boolean {
    return this.#longestBefore > 0;
  }

  /** Where nothing has come for `idle` since, and but a share of the arrivals counts. */
  habit(idle = 0, share = 1): LearntHabit {
    const pauses = this.#pauses / (this.#pauses + this.count);
    return new LearntHabit(this.count * share, this.exposure + idle, this.longest / share, {
      share: this.#pauses > 0 ? pauses : 0,
      longest: this.#longestPause,
    });
  }

  /** However long the latest gap was, its length is known until as much time again has passed. */
  #fade(): void {
    const part = 0.5 ** Math.ceil(Math.log2(this.exposure / horizon));
    this.count *= part;
    this.exposure *= part;
    this.#pauses *= part;
    this.#longestBefore = this.#longest;
    this.#longest = 0;
  }
}
