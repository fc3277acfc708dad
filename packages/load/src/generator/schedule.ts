import { random } from "@lameduck/accounting/recording";
import type { Random, ConnectionMode, ScheduledKind } from "@lameduck/accounting";
import type { LoadPlan } from "../plan.ts";

/** One request of the schedule. */
export interface Slot {
  /** Milliseconds after the start of the load. */
  readonly at: number;
  readonly mode: ConnectionMode;
  readonly kind: ScheduledKind;
  /** Index of the sender. */
  readonly sender: number;
}

/**
 * The schedule follows from the plan, the number of senders and the seed, whatever the servers do. That makes the load open: a
 * server that stalls is asked as often as one that does not. It is unrolled as time goes on, because the end of a rollout is
 * not known.
 */
export class Schedule {
  readonly #plan: LoadPlan;
  readonly #count: number;
  readonly #gaps: Random;
  readonly #modes: Random;
  readonly #kinds: Random;
  readonly #senders: Random;
  #taken = 0;
  #next: number;

  /** @param senders how many of them share the load evenly */
  constructor(plan: LoadPlan, senders: number, seed: number) {
    this.#plan = plan;
    this.#count = senders;
    this.#gaps = random(seed, "arrivals");
    this.#modes = random(seed, "modes");
    this.#kinds = random(seed, "kinds");
    this.#senders = random(seed, "senders");
    this.#next = this.#after(0);
  }

  /** When the next request is due, milliseconds after the start; Infinity when the plan's bounds are reached. */
  get due(): number {
    return this.#next;
  }

  take(): Slot {
    const slot: Slot = {
      at: this.#next,
      mode: this.#modes.next() < this.#plan.pooledShare ? "pooled" : "new",
      kind: this.#kind(this.#kinds.next()),
      sender: Math.floor(this.#senders.next() * this.#count),
    };
    this.#taken++;
    this.#next = this.#after(slot.at);
    return slot;
  }

  #after(previous: number): number {
    const { rate, arrivals, maxRequests, maxDuration } = this.#plan;
    const at =
      arrivals === "fixed" ? (this.#taken * 1_000) / rate : previous + this.#gaps.exponential(1_000 / rate);
    return this.#taken >= maxRequests || at > maxDuration ? Infinity : at;
  }

  #kind(share: number): ScheduledKind {
    const { slowShare, largeShare } = this.#plan;
    if (share < slowShare) return "slow";
    return share < slowShare + largeShare ? "large" : "quick";
  }
}
