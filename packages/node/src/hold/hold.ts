import type { Drain, Explanation, StopReason } from "@lameduck/drain";
import { nextTurn, sleep, type Clock } from "../clock.ts";
import type { ServerWatch } from "../servers/traffic.ts";

/** How often the hold looks up. Also the least blindness that is noticed, twice over. */
const beat = 20;

export interface HoldEnd {
  readonly reason: StopReason;
  readonly explanation: Explanation;
  /** Milliseconds. */
  readonly hold: number;
  readonly blind: number;
  /** What it says of the environment, for `learn`; undefined where nothing was seen. */
  readonly lesson: readonly number[] | undefined;
}

/** The time between SIGTERM and the decision that it is safe to stop: serving, watching, and after a while asking clients to leave. */
export class Hold {
  readonly #drain: Drain;
  readonly #watches: ReadonlySet<ServerWatch>;
  readonly #clock: Clock;
  readonly #hintAt: number;
  readonly #ramp: number;
  #blind = 0;
  /** Something that may end a wait has been observed: ask again. */
  #ask = true;
  readonly #wake = new AbortController();

  constructor(
    drain: Drain,
    watches: ReadonlySet<ServerWatch>,
    clock: Clock,
    settings: { hintAt: number; ramp: number },
  ) {
    this.#drain = drain;
    this.#watches = watches;
    this.#clock = clock;
    this.#hintAt = settings.hintAt;
    this.#ramp = settings.ramp;
  }

  /** To be called after an observation that may end the wait: nothing in flight any more, an acknowledgement, a force. */
  reconsider(): void {
    this.#ask = true;
  }

  /** Ends the hold now. */
  force(): void {
    this.#drain.observe({ type: "force", at: this.#clock.now() });
    this.#ask = true;
    this.#wake.abort();
  }

  /** @param capAt when it must be over, which for a signal that came late is before the cap has passed. */
  async run(capAt: number): Promise<HoldEnd> {
    const from = this.#clock.now();
    this.#drain.observe({ type: "termination", at: from });
    for (const watch of this.#watches) watch.hold();
    let until = from;
    for (;;) {
      const now = this.#clock.now();
      this.#hint(now - from);
      for (const watch of this.#watches) watch.tick();
      if (this.#ask || now >= until) {
        this.#ask = false;
        const decision = this.#drain.decide(now);
        if (now >= capAt || (decision.stop && (await this.#stillStops()))) break;
        until = decision.stop ? now : Math.min(decision.until, capAt);
      }
      await this.#beat(until);
    }
    const end = this.#clock.now();
    const decision = this.#drain.decide(end);
    return {
      reason: decision.stop ? decision.reason : "cap",
      explanation: this.#drain.explain(end),
      hold: end - from,
      blind: this.#blind,
      lesson: this.#drain.lesson(end),
    };
  }

  /**
   * Closing a listener resets what waits in its accept queue, and a timer fires before the sockets are read. So the loop turns
   * until nothing more is accepted; what came meanwhile is evidence, and the decision is taken again.
   */
  async #stillStops(): Promise<boolean> {
    for (let attempt = 0; attempt < 10; attempt++) {
      const before = this.#accepted();
      for (let turn = 0; turn < 3; turn++) await nextTurn();
      if (this.#accepted() === before) break;
    }
    return this.#drain.decide(this.#clock.now()).stop;
  }

  #accepted(): number {
    let sum = 0;
    for (const watch of this.#watches) sum += watch.accepted;
    return sum;
  }

  #hint(held: number): void {
    if (held < this.#hintAt) return;
    const share = this.#ramp === 0 ? 1 : Math.min(1, (held - this.#hintAt) / this.#ramp);
    for (const watch of this.#watches) watch.hint(share);
  }

  /** One beat. What it is late by, the event loop was blocked: no silence in that time proves anything. */
  async #beat(until: number): Promise<void> {
    const from = this.#clock.now();
    const pause = Math.max(1, Math.min(beat, until - from));
    await sleep(pause, this.#wake.signal);
    const now = this.#clock.now();
    const late = now - from - pause;
    if (late <= beat) return;
    this.#blind += late;
    this.#drain.observe({ type: "blind", at: now, from: now - late });
  }
}
