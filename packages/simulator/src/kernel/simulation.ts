import { EventQueue, type Action } from "./event-queue.ts";

/** Virtual time: a clock that jumps from event to event. Times are milliseconds. */
export class Simulation {
  readonly #queue = new EventQueue();
  #now = 0;

  get now(): number {
    return this.#now;
  }

  /** Runs `action` at `time`, or now if that is past: causes never come after their effects. */
  at(time: number, action: Action, subject = 0): void {
    if (time === Infinity) return;
    this.#queue.push(Math.max(time, this.#now), action, subject);
  }

  after(delay: number, action: Action, subject = 0): void {
    this.at(this.#now + delay, action, subject);
  }

  /** Runs events in order until none is left, or the next one is later than `until`. */
  run(until = Infinity): void {
    const queue = this.#queue;
    for (let time = queue.nextTime; time <= until && time < Infinity; time = queue.nextTime) {
      this.#now = time;
      queue.runNext();
    }
    if (until !== Infinity) this.#now = Math.max(this.#now, until);
  }
}
