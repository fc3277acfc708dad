import { setTimeout as delay } from "node:timers/promises";

/** The time between two rounds of work that is done again and again. Who has news ends it. */
export class WakeableDelay {
  #news = new AbortController();

  /** Ends this wait, or the next one where work is being done. */
  wake(): void {
    this.#news.abort();
  }

  /** Ends early where the signal aborts. */
  async wait(mostMs: number, signal: AbortSignal): Promise<void> {
    const either = AbortSignal.any([signal, this.#news.signal]);
    await delay(mostMs, undefined, { signal: either }).catch(() => undefined);
    this.#news = new AbortController();
  }
}
