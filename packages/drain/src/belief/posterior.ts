import { counted, delayBefore, delays, means, withLatest, type Latest } from "./hypotheses.ts";

/** What was seen of one sender since the deletion. */
export interface ArrivalProcess {
  /** Its mean rate before the deletion. */
  readonly rate: number;
  /** Time from the deletion to its last arrival; 0 if there was none. */
  readonly last: number;
  /** The rate expected of it after such a silence, if it still sends. */
  rateAfter(silence: number): number;
  /** -ln of the chance that it is silent for so long while it still sends. */
  hazard(silence: number): number;
}

export interface Summary {
  /** Requests expected to arrive within one mean convergence time after a stop now. */
  readonly expectedLoss: number;
  /** The weights of the hypotheses after all that was seen. They add up to 1. */
  readonly weights: number[];
  /** The same for the hypotheses of the prior. The weight of the latest arrival's delay is added to that of the delay before it. */
  readonly priorUpdate: number[];
}

/** Sums over senders, one for each hypothesis: those of the prior, and for each mean one whose delay ends at the latest arrival. */
export class Posterior {
  readonly #now: number;
  readonly #convergence: number;
  readonly #delayBefore: number;
  readonly #begins: readonly number[];
  readonly #logs: Float64Array;
  readonly #losses: Float64Array;

  /** @param now time since the deletion, as are the times of the latest arrival and of senders. */
  constructor(convergence: number, prior: readonly number[], now: number, latest = noArrival) {
    this.#now = now;
    this.#delayBefore = delayBefore(latest, convergence);
    this.#convergence = convergence;
    this.#begins = [...delays.map((delay) => delay * convergence), latest.at];
    const weights = withLatest(prior, latest, convergence);
    this.#logs = new Float64Array(weights.length);
    for (let index = 0; index < weights.length; index++)
      this.#logs[index] = Math.max(impossible, Math.log(weights[index]!));
    this.#losses = new Float64Array(this.#logs.length);
  }

  /**
   * A sender may let go from the end of the delay on, or from its last arrival on if that was later; that moment was x ago. S is the chance of its
   * silence since then if it still sends, r the rate at which S falls. For a mean m, with u = 1/m: it had not let go y after the end of the delay,
   * e^(-u y). Since then it either still sends, S e^(-u x), or let go before its next arrival, u/(r+u) (1 - S e^(-u x)).
   */
  update(sender: ArrivalProcess): void {
    const now = this.#now;
    const last = Math.min(sender.last, now);
    const rateNow = sender.rateAfter(now - last);
    const whole = sender.hazard(now - last);
    let index = 0;
    for (const begin of this.#begins) {
      // Silence from before the end of the delay speaks against that delay.
      const before = last < begin ? sender.hazard(Math.min(begin, now) - last) : 0;
      const silence = Math.max(0, now - Math.max(begin, last));
      const rate = silence > 0 ? Math.min(sender.rate, (whole - before) / silence) : sender.rate;
      for (const mean of means) {
        const m = mean * this.#convergence;
        const sends = Math.exp(before - whole - silence / m);
        const likelihood = sends + (1 - sends) / (1 + rate * m);
        const toCome = counted(m + Math.max(0, begin - now), this.#convergence);
        this.#logs[index]! += Math.log(likelihood) - before - Math.max(0, last - begin) / m;
        this.#losses[index++]! += (sends / likelihood) * rateNow * toCome;
      }
    }
  }

  summary(): Summary {
    const weights: number[] = [];
    let highest = -Infinity;
    for (let index = 0; index < this.#logs.length; index++) highest = Math.max(highest, this.#logs[index]!);
    let sum = 0;
    for (let index = 0; index < this.#logs.length; index++) {
      const likelihood = Math.exp(this.#logs[index]! - highest);
      weights.push(likelihood);
      sum += likelihood;
    }
    for (let index = 0; index < weights.length; index++) weights[index]! /= sum;
    const priorUpdate = weights.slice(0, -means.length);
    for (const [index, weight] of weights.slice(-means.length).entries())
      priorUpdate[this.#delayBefore * means.length + index]! += weight;
    return { expectedLoss: this.lossUnder(weights), weights, priorUpdate };
  }

  /** The requests that the senders seen here would still send, if the hypotheses had these weights. */
  lossUnder(weights: readonly number[]): number {
    return weights.reduce((sum, weight, index) => sum + weight * this.#losses[index]!, 0);
  }
}

const noArrival: Latest = { at: 0, rate: 0 };

/** Stands for the logarithm of 0: sums with it are still numbers. */
const impossible = -1_000;
