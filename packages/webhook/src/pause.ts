import { setTimeout as delay } from "node:timers/promises";

/** The time between two rounds of work that is done again and again. Who has news ends it. */
export class Pause {
  #news = new AbortController();

  /** Ends this pause, or the next one where work is being done. */
  end(): void {
    this.#news.abort();
  }

  /** @param milliseconds at most; less where the signal aborts. */
  async begin(milliseconds: number, signal: AbortSignal): Promise<void> {
    const either = AbortSignal.any([signal, this.#news.signal]);
    await delay(milliseconds, undefined, { signal: either }).catch(() => undefined);
    this.#news = new AbortController();
  }
}
