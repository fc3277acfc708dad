import { firstAbove } from "./kernel/search.ts";
import type { Scenario } from "./model/scenario.ts";
import { terminationUses, type TerminationUse } from "./run.ts";
import type { World } from "./model/world.ts";

/** What fixed delays lose in a termination, on average: for Poisson arrivals it is known exactly from the convergence times. */
export class FixedDelays {
  readonly #terminations: number;
  readonly #groups: readonly Senders[];

  constructor(scenario: Scenario, world: World, seed: number) {
    this.#terminations = scenario.terminations;
    const uses = terminationUses(scenario, world, seed);
    // A known spread gives each sender of each termination a rate of its own.
    this.#groups = scenario.traffic.spread === "known" ? [new UnequalSenders(uses)] : equalSenders(uses);
  }

  lostAfter(delay: number): number {
    return this.#groups.reduce((sum, group) => sum + group.lostAfter(delay), 0) / this.#terminations;
  }
}

interface Senders {
  lostAfter(delay: number): number;
}

function equalSenders(uses: Iterable<TerminationUse>): EqualSenders[] {
  const timesByRate = new Map<number, number[]>();
  for (const { convergence, rates } of uses)
    for (let sender = 0; sender < rates.length; sender++) {
      const times = timesByRate.get(rates[sender]!);
      if (times) times.push(convergence[sender]!);
      else timesByRate.set(rates[sender]!, [convergence[sender]!]);
    }
  return Array.from(timesByRate, ([rate, times]) => new EqualSenders(rate, times));
}

/** Senders in the order in which they let go. */
class UnequalSenders implements Senders {
  readonly #times: Float64Array;
  /** By index: sums over it and all later senders. */
  readonly #rates: Float64Array;
  readonly #weightedTimes: Float64Array;

  constructor(uses: Iterable<TerminationUse>) {
    const senders: { time: number; rate: number }[] = [];
    for (const { convergence, rates } of uses)
      for (let sender = 0; sender < rates.length; sender++)
        senders.push({ time: convergence[sender]!, rate: rates[sender]! });
    senders.sort((a, b) => a.time - b.time);
    this.#times = Float64Array.from(senders, ({ time }) => time);
    this.#rates = new Float64Array(senders.length + 1);
    this.#weightedTimes = new Float64Array(senders.length + 1);
    for (const [index, { time, rate }] of [...senders.entries()].reverse()) {
      this.#rates[index] = this.#rates[index + 1]! + rate;
      this.#weightedTimes[index] = this.#weightedTimes[index + 1]! + rate * time;
    }
  }

  lostAfter(delay: number): number {
    const later = firstAbove(this.#times, delay);
    return this.#weightedTimes[later]! - this.#rates[later]! * delay;
  }
}

/** Their convergence times in order, so that a delay looks only at the times at its place. */
class EqualSenders implements Senders {
  readonly #rate: number;
  readonly #times: Float64Array;
  /** By index: the sum of the times from there on. */
  readonly #sums: Float64Array;

  constructor(rate: number, times: readonly number[]) {
    this.#rate = rate;
    this.#times = new Float64Array(times).sort();
    this.#sums = new Float64Array(times.length + 1);
    for (let index = times.length - 1; index >= 0; index--)
      this.#sums[index] = this.#sums[index + 1]! + this.#times[index]!;
  }

  lostAfter(delay: number): number {
    const later = firstAbove(this.#times, delay);
    return this.#rate * (this.#sums[later]! - (this.#times.length - later) * delay);
  }
}

/** The shortest delay that loses no more than that, by bisection; `longest` where no delay does. */
export function shortestDelay(
  lostAfter: (delay: number) => number,
  lost: number,
  longest: number,
): { readonly lost: number; readonly hold: number } {
  if (lostAfter(0) <= lost) return { lost: lostAfter(0), hold: 0 };
  let low = 0;
  let high = longest;
  for (let step = 0; step < 40; step++) {
    const middle = (low + high) / 2;
    if (lostAfter(middle) <= lost) high = middle;
    else low = middle;
  }
  return { lost: lostAfter(high), hold: high };
}
