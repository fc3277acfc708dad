import { firstAbove } from "../kernel/search.ts";
import { senderRates, type Scenario } from "../model/scenario.ts";
import type { World } from "../model/world.ts";

/** What fixed delays lose in a termination, on average: for Poisson arrivals it is known exactly from the convergence times. */
export class FixedDelays {
  readonly #terminations: number;
  readonly #groups: readonly EqualSenders[];

  constructor(scenario: Scenario, world: World) {
    const rates = senderRates(scenario);
    this.#terminations = scenario.terminations;
    this.#groups = [...new Set(rates)].map((rate) => {
      const times: number[] = [];
      for (const each of world.convergence)
        for (const [sender, time] of each.entries()) if (rates[sender] === rate) times.push(time);
      return new EqualSenders(rate, times);
    });
  }

  lostAfter(delay: number): number {
    return this.#groups.reduce((sum, group) => sum + group.lostAfter(delay), 0) / this.#terminations;
  }
}

/** Their convergence times in order, so that none is looked at for a delay but those at its place. */
class EqualSenders {
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

/** The shortest delay after which no more is lost than that, by bisection; `longest` where none is. */
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
