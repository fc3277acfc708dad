import type { Decision, Observation } from "@lameduck/drain";
import type { Contender, Stopper } from "./stopper.ts";

/** The shortest hold that loses nothing: known only to a simulator. */
export function oracle(): Contender {
  return {
    name: "oracle",
    description: "stops when the last sender has stopped sending",
    recipe: { kind: "oracle" },
    learns: false,
    start: ({ oracle: at }) => stopAt(at),
  };
}

/**
 * Istio's EXIT_ON_ZERO_ACTIVE_CONNECTIONS: sleeps for the minimum drain duration (5 s), then looks once a second
 * and goes at the first look that finds no connection (istio/istio PR 35059).
 */
export function istio(): Contender {
  return {
    name: "istio exit-on-zero",
    description: "after 5 s, looks each second and stops when no connection is open",
    recipe: { kind: "istio" },
    learns: false,
    hints: { from: 0, ramp: 0 },
    start: () => new ExitOnZero(),
  };
}

/**
 * w* of the literature for k senders of which only the sum is seen: w = (k/rate)(2 ln(rate tau/k) + ln(k/budget)) of silence, given
 * the number of senders, the rate and the mean convergence tau; where rate tau/k < 3 silence says little and it falls back to a fixed delay
 * at which an exponential tail of mean tau leaves no more than the budget.
 */
export function wStar(tau: number, budget: number, cap: number): Contender {
  return {
    name: "w*",
    description:
      "a quiet window computed from the number of senders, the rate and the mean convergence, all known",
    recipe: { kind: "w*", tau, budget, cap },
    learns: false,
    start: ({ senders, rate }) => {
      const each = (rate * tau) / senders;
      if (each < 3) return stopAt(Math.min(cap, Math.max(0, tau * Math.log((rate * tau) / budget))));
      return new Silence((senders / rate) * (2 * Math.log(each) + Math.log(senders / budget)), cap);
    },
  };
}

function stopAt(at: number): Stopper {
  return {
    observe: () => {},
    decide: (now) =>
      now >= at ? { stop: true, reason: "delay" } : { stop: false, until: at, waitingFor: "delay" },
  };
}

class Silence implements Stopper {
  readonly #window: number;
  readonly #cap: number;
  #last = 0;

  constructor(window: number, cap: number) {
    this.#window = window;
    this.#cap = cap;
  }

  observe(observation: Observation): void {
    if (observation.type === "arrival") this.#last = Math.max(this.#last, observation.at);
  }

  decide(now: number): Decision {
    if (now >= this.#cap) return { stop: true, reason: "cap" };
    const until = Math.min(this.#cap, this.#last + this.#window);
    return now >= until ? { stop: true, reason: "quiet" } : { stop: false, until, waitingFor: "silence" };
  }
}

class ExitOnZero implements Stopper {
  #next = 5_000;
  #open = 0;

  observe(observation: Observation): void {
    if (observation.type === "in-flight") this.#open = Math.max(0, this.#open + observation.change);
  }

  decide(now: number): Decision {
    while (now >= this.#next) {
      if (this.#open === 0) return { stop: true, reason: "quiet" };
      this.#next += 1_000;
    }
    return { stop: false, until: this.#next, waitingFor: "in-flight" };
  }
}
