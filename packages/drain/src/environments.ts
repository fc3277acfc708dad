import { expectedLossOfCrowd } from "./evidence.ts";

/**
 * How fast senders converge differs a thousandfold between clusters and is known to nobody, so the rule keeps many pictures of it at once:
 *
 *     after the deletion nothing happens for D; then each sender lets go after an exponential time of mean m; and in half of the pictures
 *     one sender in fifty is a laggard, of mean 4 m.
 *
 * Every sender's arrivals and silence are likely in some pictures and unlikely in others; the weights follow by Bayes' rule. So the crowd tells
 * what no single sender could: hundreds of clients that each come once a minute fall silent together, and a late withdrawal delays them all.
 * Times and rates share one unit (here milliseconds and arrivals per millisecond).
 */

/** In mean convergence times. Some shared delay is a third as likely as none, and long ones are rare: with little traffic this is all there is to go by. */
const delays = [0, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8] as const;
const delayWeights = [8, 1, 1, 1, 0.5, 0.2, 0.05, 0.01] as const;

/** In mean convergence times, each four times the one before, so that the powers of one exponential serve all of them. */
const means = [1 / 64, 1 / 16, 1 / 4, 1, 4] as const;
const meanWeights = [1, 1, 1, 1, 0.04] as const;
const step = 4;

/** One sender in fifty lags behind the others: a lone straggler on a busy node must not be taken for gone because the rest are. */
const laggards = 0.02;

/** How likely it is that there are such. A dimension of its own, so that it can be learnt that there are none. */
const withoutLaggards = 0.7;
const kinds = [withoutLaggards, 1 - withoutLaggards] as const;

/** How many weights a prior has: by delay, within it by mean, within it without laggards and with them. */
export const environmentCount = delays.length * means.length * kinds.length;

/** What is believed of environments before anything has been learnt: weights that add up to 1. */
export function unlearntPrior(): number[] {
  const weights = delayWeights.flatMap((delay) =>
    meanWeights.flatMap((mean) => kinds.map((kind) => delay * mean * kind)),
  );
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

/** What was seen of one sender since the deletion. */
export interface Seen {
  /** Its mean rate before. */
  readonly rate: number;
  /** The rate expected of it now, if it still sends. */
  readonly rateNow: number;
  /** Time from the deletion to its last arrival; 0 if there was none. */
  readonly last: number;
  /** -ln of the chance that it is silent for so long while it still sends. */
  readonly surprise: (silence: number) => number;
}

/** What was seen since the deletion of senders that are not told apart. */
export interface CrowdSeen {
  /** No fewer than there are. */
  readonly count: number;
  /** No less than all of them send together. */
  readonly rate: number;
  /** Time from the deletion to the last arrival of any; 0 if there was none. */
  readonly last: number;
  /** Those of them whose rates are known. */
  readonly told: number;
  readonly toldRate: number;
  /** No fewer than of those have sent since the deletion. */
  readonly late: number;
}

export interface Verdict {
  /** Requests expected to arrive after a stop now. */
  readonly expectedLoss: number;
  /** What is believed of environments after all that was seen; adds up to 1. */
  readonly weights: number[];
}

/** Weighs one moment, `now` after the deletion: every sender is told, then the verdict asked. */
export class Environments {
  readonly #convergence: number;
  readonly #now: number;
  readonly #logs: Float64Array;
  /** Likelihoods not yet turned into logarithms, of which there are many. */
  readonly #products = new Float64Array(environmentCount).fill(1);
  readonly #losses = new Float64Array(environmentCount);
  /** Where senders are not told apart: by how much the logarithms may be too high. */
  #doubts: Float64Array | undefined;
  readonly #silent = new Float64Array(means.length + 1);
  readonly #sending = new Float64Array(means.length + 1);
  /** Most of a crowd has been silent since senders began to let go: by delay, what #silent is then. */
  readonly #silentThroughout: readonly Float64Array[];
  readonly #always = new Float64Array(means.length + 1).fill(1);

  constructor(convergence: number, prior: readonly number[], now: number) {
    this.#convergence = convergence;
    this.#now = now;
    this.#logs = Float64Array.from(prior, Math.log);
    this.#silentThroughout = delays.map((delay) =>
      powers(
        new Float64Array(means.length + 1),
        Math.exp(-Math.max(0, now - delay * convergence) / this.#slowest),
      ),
    );
  }

  get #slowest(): number {
    return means.at(-1)! * step * this.#convergence;
  }

  /** `alike`: how many senders this one stands for, so far as loss goes. */
  see(sender: Seen, alike = 1): void {
    const rateNow = sender.rateNow * alike;
    const whole = sender.surprise(this.#now - sender.last);
    for (let delay = 0; delay < delays.length; delay++) {
      const begin = delays[delay]! * this.#convergence;
      const first = delay * means.length * kinds.length;
      if (begin < this.#now) this.#weigh(sender, rateNow, whole, begin, delay, first);
      else this.#notYet(rateNow, whole, begin, first);
    }
  }

  /**
   * Senders that are not told apart: nobody knows which of them sent and which has been silent for how long. How likely a picture makes what was
   * seen of them lies between
   *
   *     at most:   one of them made all late arrivals, and no silence proves anything
   *     at least:  each late arrival is the last of a sender of its own, and all have been silent throughout, at equal rates
   *
   * (the logarithm of `chanceOfSilence` is convex in the rate: equal rates explain silence worst). A picture's loss is at most that of equal senders,
   * see `expectedLossOfCrowd`, laggards being as likely among all as in the latest to have sent. The verdict is the worst that lies
   * between: folding senders whose rates are known never makes the stop earlier. Where rates are not known, every arrival counts as a sender by
   * itself, which is caution enough: there it is "at most".
   */
  seeCrowd(crowd: CrowdSeen): void {
    if (crowd.count <= 0) return;
    this.#doubts = new Float64Array(environmentCount);
    let index = 0;
    for (const delay of delays)
      for (const mean of means) {
        const begin = delay * this.#convergence;
        const m = mean * this.#convergence;
        if (begin < this.#now) this.#weighCrowd(crowd, begin, m, index);
        else
          for (const at of [index, index + 1]) {
            this.#losses[at]! += crowd.rate * (m + begin - this.#now);
            this.#doubts[at] = crowd.toldRate * this.#now;
          }
        index += kinds.length;
      }
  }

  #weighCrowd(crowd: CrowdSeen, begin: number, m: number, index: number): void {
    const { count, rate, last, told, toldRate, late } = crowd;
    const slow = step * m;
    const since = this.#now - begin;
    const still = Math.max(0, last - begin);
    const others = Math.max(0, late - 1);
    const silent = (mean: number): number =>
      told > 0 ? told * Math.log(chanceOfSilence(since, toldRate / told, mean)) - toldRate * begin : 0;
    const usualLoss = expectedLossOfCrowd(count, rate, since - still, m);
    this.#losses[index]! += usualLoss;
    this.#logs[index]! -= still / m;
    this.#doubts![index] = others * (still / m) - silent(m);
    // Relative to a laggard's chance of having sent so long, which cannot vanish in rounding.
    const usual = (1 - laggards) * Math.exp(-still / m + still / slow);
    const lagging = laggards / (usual + laggards);
    const survived = Math.log(usual + laggards) - still / slow;
    const slowLoss = expectedLossOfCrowd(count, rate, since - still, slow);
    this.#losses[index + 1]! += (1 - lagging) * usualLoss + lagging * slowLoss;
    this.#logs[index + 1]! += survived;
    this.#doubts![index + 1] = -others * survived - silent(slow);
  }

  verdict(): Verdict {
    let highest = -Infinity;
    for (let index = 0; index < environmentCount; index++) {
      this.#logs[index]! += Math.log(this.#products[index]!);
      this.#products[index] = 1;
      highest = Math.max(highest, this.#logs[index]!);
    }
    const weights = Array.from(this.#logs, (log) => Math.exp(log - highest));
    const sum = weights.reduce((total, weight) => total + weight, 0);
    let expectedLoss = 0;
    for (let index = 0; index < environmentCount; index++) {
      weights[index]! /= sum;
      expectedLoss += weights[index]! * this.#losses[index]!;
    }
    return { expectedLoss: this.#doubts ? this.#worst(expectedLoss, this.#doubts) : expectedLoss, weights };
  }

  /**
   * The highest mean loss that weights within the doubts allow: pictures that lose more than it count for the most they may, the others for the
   * least. Each round raises it, and there are no more rounds than pictures; a few do.
   */
  #worst(expectedLoss: number, doubts: Float64Array): number {
    let worst = expectedLoss;
    for (let round = 0; round < environmentCount; round++) {
      const logs = this.#logs.map((log, index) =>
        this.#losses[index]! > worst ? log : log - doubts[index]!,
      );
      const highest = Math.max(...logs);
      let sum = 0;
      let loss = 0;
      for (let index = 0; index < environmentCount; index++) {
        const weight = Math.exp(logs[index]! - highest);
        sum += weight;
        loss += weight * this.#losses[index]!;
      }
      if (!(loss / sum > worst)) break;
      worst = loss / sum;
    }
    return worst;
  }

  /** Nobody can have let go yet: silence speaks against the picture, and everything is still to come. */
  #notYet(rateNow: number, surprise: number, begin: number, first: number): void {
    for (let index = 0; index < means.length * kinds.length; index++) {
      const m = means[Math.floor(index / kinds.length)]! * this.#convergence;
      this.#logs[first + index]! -= surprise;
      this.#losses[first + index]! += rateNow * (m + begin - this.#now);
    }
  }

  /**
   * Senders let go since `begin`. This one still sent for y of it and has been silent for x; S is the chance of that silence while it sends.
   * For each mean m (u = 1/m) it survived y with e^(-u y), and then either still sends, S e^(-u x), or let go before its next
   * arrival, u/(r+u) (1 - S e^(-u x)), with r the rate at which S falls.
   */
  #weigh(sender: Seen, rateNow: number, whole: number, begin: number, delay: number, first: number): void {
    const still = Math.max(0, sender.last - begin);
    const silence = this.#now - begin - still;
    const before = sender.last < begin ? sender.surprise(begin - sender.last) : 0;
    const after = whole - before;
    const chance = Math.exp(-after);
    const rate = silence > 0 ? Math.min(sender.rate, after / silence) : sender.rate;
    const silent =
      still === 0 ? this.#silentThroughout[delay]! : powers(this.#silent, Math.exp(-silence / this.#slowest));
    const sending = still === 0 ? this.#always : powers(this.#sending, Math.exp(-still / this.#slowest));
    for (let mean = 0; mean < means.length; mean++) {
      const index = first + mean * kinds.length;
      const m = means[mean]! * this.#convergence;
      const slow = step * m;
      const alive = chance * silent[mean]!;
      const either = alive + (1 - alive) / (1 + rate * m);
      this.#multiply(index, either, -before - still / m);
      this.#losses[index]! += (alive / either) * m * rateNow;
      // Chances are taken relative to a laggard's of having sent so long: none of them can vanish in rounding.
      const usual = (1 - laggards) * sending[mean + 1]! * sending[mean + 1]! * sending[mean + 1]!;
      const slowAlive = chance * silent[mean + 1]!;
      const all = usual * either + laggards * (slowAlive + (1 - slowAlive) / (1 + rate * slow));
      this.#multiply(index + 1, all, -before - still / slow);
      this.#losses[index + 1]! += ((usual * alive * m + laggards * slowAlive * slow) / all) * rateNow;
    }
  }

  #multiply(index: number, likelihood: number, log: number): void {
    this.#logs[index]! += log;
    const product = this.#products[index]! * likelihood;
    if (product > 1e-200) this.#products[index] = product;
    else {
      this.#logs[index]! += Math.log(this.#products[index]!) + Math.log(likelihood);
      this.#products[index] = 1;
    }
  }
}

/** The chance that a Poisson sender which may let go at any time, after m on average, is silent for so long. */
function chanceOfSilence(silence: number, rate: number, m: number): number {
  const alive = Math.exp(-rate * silence - silence / m);
  return alive + (1 - alive) / (1 + rate * m);
}

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
