import type { StageClock } from "../clock.ts";
import type { Listening } from "../network/network.ts";

/** Time between looks when something is about to change. */
const eagerMs = 20;
/** Share of the time that looking may cost at most; a machine with a huge table of connections is looked at less often. */
const share = 0.05;

/** Sees a pod's listener come and go, by looking at the kernel's table of sockets. */
export class ListenerWatch {
  readonly #clock: StageClock;
  readonly #look: () => Listening;
  readonly #onChange: (open: boolean, at: number) => void;
  readonly #stopped = new AbortController();
  #open = false;
  #watching = false;
  #forever = false;

  constructor(clock: StageClock, look: () => Listening, onChange: (open: boolean, at: number) => void) {
    this.#clock = clock;
    this.#look = look;
    this.#onChange = onChange;
  }

  /** Looks until the listener is open. */
  untilOpen(): void {
    void this.#watch(() => this.#open && !this.#forever);
  }

  /** Looks until `stop`: the pod is about to end. */
  untilEnd(): void {
    this.#forever = true;
    void this.#watch(() => false);
  }

  /** Looks once: a process has ended at `at`, and its sockets with it. */
  lookNow(at: number): void {
    if (!this.#stopped.signal.aborted) this.#notice(at);
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #watch(enough: () => boolean): Promise<void> {
    if (this.#watching) return;
    this.#watching = true;
    while (!this.#stopped.signal.aborted && !enough()) {
      const before = this.#clock.now();
      this.#notice();
      const cost = this.#clock.now() - before;
      await this.#clock.sleep(Math.max(eagerMs, cost / share), this.#stopped.signal);
    }
    this.#watching = false;
  }

  #notice(at?: number): void {
    const seen = this.#look();
    if (seen === "unknown" || (seen === "open") === this.#open) return;
    this.#open = !this.#open;
    this.#onChange(this.#open, at ?? this.#clock.now());
  }
}
