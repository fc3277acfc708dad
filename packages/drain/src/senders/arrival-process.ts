import type { ArrivalProcess } from "../belief/posterior.ts";
import { recentHazard, type LearntHabit, type Recent } from "../belief/evidence.ts";

/** A sender judged by its habit; and by its latest gaps, where it has slowed down since the deletion. */
export class LearntSender implements ArrivalProcess {
  readonly rate: number;
  readonly last: number;
  readonly #habit: LearntHabit;
  readonly #recent: Recent | undefined;

  /** `recent`: undefined where it has not slowed down. */
  constructor(habit: LearntHabit, last: number, recent: Recent | undefined) {
    this.rate = habit.rate;
    this.last = last;
    this.#habit = habit;
    this.#recent = recent;
  }

  hazard(silence: number): number {
    const habitual = this.#habit.hazard(silence);
    return this.#recent ? Math.min(habitual, recentHazard(this.#recent, silence)) : habitual;
  }

  rateAfter(silence: number): number {
    return this.#habit.rateAfter(silence);
  }
}

/**
 * Requests on connections of before make a second stream of arrivals beside the new connections, silent since its own last one: where requests come
 * steadily, both fall silent because the sender, who chooses for each of them, has let go.
 */
export class PooledSender implements ArrivalProcess {
  readonly rate: number;
  readonly last: number;
  readonly #connections: ArrivalProcess;
  readonly #requests: LearntHabit;
  /** From the last connection to the last such request. */
  readonly #later: number;

  constructor(connections: ArrivalProcess, requests: LearntHabit, later: number) {
    this.rate = connections.rate;
    this.last = connections.last;
    this.#connections = connections;
    this.#requests = requests;
    this.#later = Math.max(0, later);
  }

  hazard(silence: number): number {
    return this.#connections.hazard(silence) + this.#requests.hazard(silence - this.#later);
  }

  rateAfter(silence: number): number {
    const requests = this.#requests.rateAfter(Math.max(0, silence - this.#later));
    return this.#connections.rateAfter(silence) + requests;
  }
}
