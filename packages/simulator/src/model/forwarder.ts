import type { Random } from "../kernel/random.ts";
import { draw, type Distribution, type Mechanism, type Periodic } from "@lameduck/load/propagation";

/** What stands between an endpoint's withdrawal and the moment a sender stops using it. */
export type Forwarder = Mechanism | Ordered;

/**
 * Each change has its own delay, but changes arrive in order: a proxy that applies a change knows all earlier ones, so that a
 * slow one comes with the next. As the senders of the lab learn.
 */
interface Ordered {
  readonly kind: "ordered";
  readonly delay: Distribution;
  /** Least time between two applications. */
  readonly spacing: number;
}

/** When an ordered sender applies changes that were published at these times. */
export function applyInOrder(
  { delay, spacing }: Ordered,
  publishedAt: readonly number[],
  random: Random,
): number[] {
  const due = publishedAt.map((at) => at + draw(delay, random));
  for (let index = due.length - 2; index >= 0; index--) due[index] = Math.min(due[index]!, due[index + 1]!);
  let applied = -Infinity;
  return due.map((at) => {
    // What is due when the sender may apply again is applied together.
    if (at > applied) applied = Math.max(at, applied + spacing);
    return applied;
  });
}

/** One sender's knowledge of endpoints. Changes must come in order of time. */
interface ForwarderState {
  /** A change is published at `at`. @returns when this sender acts on it. */
  learn(at: number): number;
}

export function startForwarder(forwarder: Forwarder, random: Random): ForwarderState {
  switch (forwarder.kind) {
    case "delay":
    case "ordered":
      return { learn: (at) => at + draw(forwarder.delay, random) };
    case "periodic":
      return new PeriodicState(forwarder, random);
    case "poll": {
      const phase = random.uniform() * forwarder.every;
      return {
        learn: (at) =>
          Math.ceil((at - phase) / forwarder.every) * forwarder.every + phase + draw(forwarder.work, random),
      };
    }
  }
}

class PeriodicState implements ForwarderState {
  readonly #rules: Periodic;
  readonly #random: Random;
  #start = -Infinity;
  #end = -Infinity;

  constructor(rules: Periodic, random: Random) {
    this.#rules = rules;
    this.#random = random;
  }

  learn(at: number): number {
    const seen = at + draw(this.#rules.watch, this.#random);
    if (this.#start === -Infinity && this.#rules.busy)
      this.#begin(seen - this.#random.uniform() * this.#period());
    // What comes before a sync begins is part of it; what comes later waits for the next one.
    if (seen > this.#start) {
      if (this.#rules.busy)
        while (this.#start + this.#period() < seen) this.#begin(this.#start + this.#period());
      this.#begin(Math.max(seen, this.#start + this.#period()));
    }
    return this.#end + (this.#rules.dataPlane === undefined ? 0 : draw(this.#rules.dataPlane, this.#random));
  }

  /** From one start of a sync to the next under constant work. */
  #period(): number {
    return (
      this.#rules.every + (this.#rules.counted === "from-end" ? Math.max(0, this.#end - this.#start || 0) : 0)
    );
  }

  #begin(at: number): void {
    this.#start = at;
    this.#end = at + draw(this.#rules.work, this.#random);
  }
}
