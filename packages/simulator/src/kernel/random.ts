import { sfc32 } from "@lameduck/accounting";

/**
 * A seeded stream of random numbers, the same on every machine. Any list of words and numbers is the key of a stream. So a termination
 * draws the same arrivals under every policy, whatever ran before it, and policies can be compared pair by pair.
 */
export class Random {
  readonly #next: () => number;
  #spareNormal: number | undefined;

  constructor(...key: readonly (number | string)[]) {
    const text = key.join("/");
    this.#next = sfc32(hash(text, 0x9e3779b9), hash(text, 0x85ebca6b), hash(text, 0xc2b2ae35));
  }

  /** In (0, 1), never 0 nor 1: logarithms of it are finite. */
  uniform(): number {
    return (this.#next() + 0.5) / 4_294_967_296;
  }

  /** A whole number from 0 to `count - 1`. */
  below(count: number): number {
    return Math.floor((this.#next() / 4_294_967_296) * count);
  }

  exponential(mean: number): number {
    return -Math.log(this.uniform()) * mean;
  }

  /** How many events there are where `mean` are expected. */
  poisson(mean: number): number {
    let count = 0;
    for (let left = mean - this.exponential(1); left > 0; left -= this.exponential(1)) count++;
    return count;
  }

  /** Standard normal, by Box and Muller. */
  normal(): number {
    const spare = this.#spareNormal;
    if (spare !== undefined) {
      this.#spareNormal = undefined;
      return spare;
    }
    const radius = Math.sqrt(-2 * Math.log(this.uniform()));
    const angle = 2 * Math.PI * this.uniform();
    this.#spareNormal = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  }

  /** Gamma of this shape and mean 1 x shape, by Marsaglia and Tsang (2000); shapes below 1 by their boost. */
  gamma(shape: number): number {
    if (shape < 1) return this.gamma(shape + 1) * this.uniform() ** (1 / shape);
    const d = shape - 1 / 3;
    const c = 1 / Math.sqrt(9 * d);
    for (;;) {
      const x = this.normal();
      const v = (1 + c * x) ** 3;
      if (v > 0 && Math.log(this.uniform()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v;
    }
  }
}

/** FNV-1a with a final avalanche (MurmurHash3's): neighbouring keys give unrelated streams. */
function hash(text: string, seed: number): number {
  let value = seed ^ 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return value ^ (value >>> 16);
}
