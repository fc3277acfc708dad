import type { Clock } from "../clock.ts";

/** Between two beats: four wake-ups a second, and a lateness that goes unnoticed is less than what is kept free at the deadline. */
const periodMs = 250;
/** What a timer may be late by without the event loop having been blocked. */
const slackMs = 50;

/**
 * A signal is delivered only when the event loop turns, but the grace period runs from when it was sent. Nothing tells when that was, so a timer
 * beats in the loop. A signal that follows a missed beat may have come at any time since the beat before. It is taken to have come right then.
 */
export class LoopHeartbeat {
  readonly #clock: Clock;
  #timer: NodeJS.Timeout | undefined;
  #last = -Infinity;
  #previous = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(): void {
    if (this.#timer) return;
    this.#last = this.#previous = this.#clock.now();
    this.#timer = setInterval(() => {
      this.#previous = this.#last;
      this.#last = this.#clock.now();
    }, periodMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** How long ago a signal that is delivered now may have been sent, at most; 0 unless a beat was missed. Milliseconds. */
  lateness(): number {
    if (!this.#timer) return 0;
    const now = this.#clock.now();
    const longest = periodMs + slackMs;
    if (now - this.#last > longest) return now - this.#last;
    // Timers come before signals in a turn of the loop, so that the beat that was missed has been made up for just now.
    return now - this.#last < slackMs && this.#last - this.#previous > longest ? now - this.#previous : 0;
  }
}
