import { sleep, type Clock } from "./clock.ts";
import type { SignalGate } from "./signals.ts";

/** How long handlers that got their signal late have to close their servers themselves before we do. */
const theirTurn = 1_000;

/** The application's own SIGTERM handlers, which got the signal only when the hold was over. */
export class OtherHandlers {
  readonly #clock: Clock;
  #called = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get called(): boolean {
    return this.#called > 0;
  }

  /** Gives them the signal, and a moment to stop listening by themselves, as frameworks do in an order of their own. */
  async closeThemselves(gate: SignalGate, stillListening: () => boolean, until: number): Promise<void> {
    this.#called = gate.release();
    const latest = Math.min(until, this.#clock.now() + theirTurn);
    while (this.called && stillListening() && this.#clock.now() < latest) await sleep(10);
  }

  /** They may have more to close than we know of: the process ends when its event loop is empty, or at the latest at `until`. */
  async untilDone(until: number): Promise<void> {
    if (!this.called) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(done, Math.max(0, until - this.#clock.now())).unref();
      function done(): void {
        clearTimeout(timer);
        process.removeListener("beforeExit", done);
        resolve();
      }
      process.once("beforeExit", done);
    });
  }
}
