import {
  counted,
  delayBefore,
  delays,
  kinds,
  laggards,
  means,
  perDelay,
  step,
  withLatest,
  type Latest,
} from "./hypotheses.ts";

/** Those of the prior, and that of the latest arrival. */
const delayCount = delays.length + 1;
const hypothesisCount = delayCount * perDelay;

/** What was seen of one sender since the deletion. */
export interface ArrivalProcess {
  /** Its mean rate before. */
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
  /** What is believed of hypotheses after all that was seen; adds up to 1. */
  readonly weights: number[];
  /** The same without the delay of the latest arrival, which counts for the delay before it. */
  readonly lesson: number[];
}

/** Sums over senders; what is alike for all hypotheses of a delay is kept by delay. */
export class Posterior {
  readonly #now: number;
  readonly #convergence: number;
  readonly #delayBefore: number;
  readonly #begins: readonly number[];
  /** Mean convergence times, and one more: a mean's laggards are the next one's usual senders. */
  readonly #means: readonly number[];
  readonly #logs: Float64Array;
  /** Likelihoods not yet turned into logarithms, of which there are many. */
  readonly #products = new Float64Array(hypothesisCount).fill(1);
  readonly #losses = new Float64Array(hypothesisCount);
  readonly #logsByDelay = new Float64Array(delayCount);
  /** For how long senders went on after they might have let go. */
  readonly #stillByDelay = new Float64Array(delayCount);
  /** Rates of senders that cannot have let go yet. */
  readonly #ratesByDelay = new Float64Array(delayCount);
  /** Most senders have been silent since the hypothesis lets them go: what #silent is for them, by delay. */
  readonly #silentThroughout: readonly Float64Array[];
  readonly #silent = new Float64Array(means.length + 1);
  readonly #sending = new Float64Array(means.length + 1);
  readonly #always = new Float64Array(means.length + 1).fill(1);
  readonly #alive = new Float64Array(means.length + 1);
  readonly #quiet = new Float64Array(means.length + 1);

  /** @param now and times of the latest arrival and of senders: since the deletion. */
  constructor(convergence: number, prior: readonly number[], now: number, latest = noArrival) {
    this.#now = now;
    this.#delayBefore = delayBefore(latest, convergence);
    this.#convergence = convergence;
    this.#begins = [...delays.map((delay) => delay * convergence), latest.at];
    this.#means = [...means, means.at(-1)! * step].map((mean) => mean * convergence);
    this.#logs = Float64Array.from(withLatest(prior, latest, convergence), (weight) =>
      Math.max(impossible, Math.log(weight)),
    );
    this.#silentThroughout = this.#begins.map((begin) =>
      powers(new Float64Array(means.length + 1), Math.exp(-Math.max(0, now - begin) / this.#slowest)),
    );
  }

  get #slowest(): number {
    return this.#means[means.length]!;
  }

  update(sender: ArrivalProcess): void {
    const last = Math.min(sender.last, this.#now);
    const silence = this.#now - last;
    const rateNow = sender.rateAfter(silence);
    const whole = sender.hazard(silence);
    for (let delay = 0; delay < delayCount; delay++) {
      const begin = this.#begins[delay]!;
      if (begin < this.#now) {
        const before = last < begin ? sender.hazard(begin - last) : 0;
        this.#logsByDelay[delay]! -= before;
        this.#updateDelay(delay, sender.rate, Math.max(0, last - begin), whole - before, rateNow);
      } else {
        // Nobody can have let go yet: silence speaks against the hypothesis, and everything is still to come.
        this.#logsByDelay[delay]! -= whole;
        this.#ratesByDelay[delay]! += rateNow;
      }
    }
  }

  summary(): Summary {
    this.#addSums();
    let highest = -Infinity;
    for (const log of this.#logs) highest = Math.max(highest, log);
    const weights = Array.from(this.#logs, (log) => Math.exp(log - highest));
    const sum = weights.reduce((total, weight) => total + weight, 0);
    let expectedLoss = 0;
    for (let index = 0; index < hypothesisCount; index++) {
      weights[index]! /= sum;
      expectedLoss += weights[index]! * this.#losses[index]!;
    }
    const lesson = weights.slice(0, -perDelay);
    for (let index = 0; index < perDelay; index++)
      lesson[this.#delayBefore * perDelay + index]! += weights[lesson.length + index]!;
    return { expectedLoss, weights, lesson };
  }

  /** What the senders seen here would still send if hypotheses had these weights. */
  lossUnder(weights: readonly number[]): number {
    this.#addSums();
    return weights.reduce((sum, weight, index) => sum + weight * this.#losses[index]!, 0);
  }

  #addSums(): void {
    for (let index = 0; index < hypothesisCount; index++) {
      const delay = Math.floor(index / perDelay);
      const mean = Math.floor(index / kinds.length) % means.length;
      const m = this.#means[mean]!;
      const toCome = counted(m + this.#begins[delay]! - this.#now, this.#convergence);
      this.#losses[index]! += this.#ratesByDelay[delay]! * toCome;
      const survival = this.#stillByDelay[delay]! / this.#means[mean + (index % kinds.length)]!;
      this.#logs[index]! += this.#logsByDelay[delay]! - survival + Math.log(this.#products[index]!);
    }
    this.#products.fill(1);
    this.#logsByDelay.fill(0);
    this.#stillByDelay.fill(0);
    this.#ratesByDelay.fill(0);
  }

  /**
   * Senders let go since `begin`. This one still sent for y of it and has been silent for x; S is the chance of that silence while it sends.
   * For each mean m (u = 1/m) it survived y with e^(-u y), and then either still sends, S e^(-u x), or let go before its next
   * arrival, u/(r+u) (1 - S e^(-u x)), with r the rate at which S falls.
   */
  #updateDelay(delay: number, usualRate: number, still: number, hazard: number, rateNow: number): void {
    const silence = this.#now - this.#begins[delay]! - still;
    const chance = Math.exp(-hazard);
    const rate = silence > 0 ? Math.min(usualRate, hazard / silence) : usualRate;
    this.#stillByDelay[delay]! += still;
    const silent =
      still === 0 ? this.#silentThroughout[delay]! : powers(this.#silent, Math.exp(-silence / this.#slowest));
    const sending = still === 0 ? this.#always : powers(this.#sending, Math.exp(-still / this.#slowest));
    const alive = this.#alive;
    const quiet = this.#quiet;
    for (let mean = 0; mean <= means.length; mean++) {
      const lives = chance * silent[mean]!;
      alive[mean] = lives * counted(this.#means[mean]!, this.#convergence);
      quiet[mean] = lives + (1 - lives) / (1 + rate * this.#means[mean]!);
    }
    const losses = this.#losses;
    let index = delay * perDelay;
    for (let mean = 0; mean < means.length; mean++) {
      this.#multiply(index, quiet[mean]!);
      losses[index++]! += (alive[mean]! / quiet[mean]!) * rateNow;
      // Chances are taken relative to a laggard's of having sent so long: none of them can vanish in rounding.
      const usual = (1 - laggards) * sending[mean + 1]! * sending[mean + 1]! * sending[mean + 1]!;
      const all = usual * quiet[mean]! + laggards * quiet[mean + 1]!;
      this.#multiply(index, all);
      losses[index++]! += ((usual * alive[mean]! + laggards * alive[mean + 1]!) / all) * rateNow;
    }
  }

  #multiply(index: number, likelihood: number): void {
    const product = this.#products[index]! * likelihood;
    if (product > 1e-200) this.#products[index] = product;
    else {
      this.#logs[index]! += Math.log(this.#products[index]!) + Math.log(likelihood);
      this.#products[index] = 1;
    }
  }
}

const noArrival: Latest = { at: 0, rate: 0 };

/** Stands for the logarithm of 0, with which sums are still numbers. */
const impossible = -1_000;

/** From the slowest mean's exponential to those of the faster ones, by fourth powers. */
function powers(into: Float64Array, slowest: number): Float64Array {
  let power = slowest;
  for (let index = into.length - 1; index >= 0; index--) {
    into[index] = power;
    power *= power;
    power *= power;
  }
  return into;
}
