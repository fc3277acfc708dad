import { setImmediate } from "node:timers/promises";
import type { StageClock } from "../src/clock.ts";

/** Virtual time: whenever nobody has anything to do, it jumps to the next moment somebody waits for. */
export class VirtualClock implements StageClock {
  #now = 0;
  readonly #sleepers = new Set<{ readonly at: number; readonly wake: () => void }>();

  now(): number {
    return this.#now;
  }

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted || milliseconds <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const sleeper = { at: this.#now + milliseconds, wake: resolve };
      this.#sleepers.add(sleeper);
      signal?.addEventListener("abort", () => {
        this.#sleepers.delete(sleeper);
        resolve();
      });
    });
  }

  /** Lets time pass until `work` is done. */
  async run<T>(work: Promise<T>): Promise<T> {
    let done = false;
    const settled = work.finally(() => (done = true));
    for (;;) {
      await setImmediate();
      if (done) return settled;
      this.#jump(Infinity);
    }
  }

  async until(time: number): Promise<void> {
    for (;;) {
      await setImmediate();
      if (!this.#jump(time)) break;
    }
    this.#now = time;
  }

  #jump(limit: number): boolean {
    const [next] = [...this.#sleepers].toSorted((a, b) => a.at - b.at);
    if (!next || next.at > limit) return false;
    this.#sleepers.delete(next);
    this.#now = next.at;
    next.wake();
    return true;
  }
}
