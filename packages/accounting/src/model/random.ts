import { checksum } from "@lameduck/drain/common";

/**
 * Random numbers that are the same for the same seed on every machine: sfc32 (Doty-Humphrey's "small fast chaotic" generator, PractRand),
 * one independent stream for each list of labels, so that drawing more of one thing never changes another.
 */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  exponential(mean: number): number;
  /** Standard normal. */
  normal(): number;
  /** @throws {RangeError} when there is nothing to pick from. */
  pick<T>(from: readonly T[]): T;
}

export function random(seed: number, ...labels: readonly (string | number)[]): Random {
  const words = splitmix32(checksum(JSON.stringify([seed, ...labels])));
  const word = sfc32(words(), words(), words());
  const next = (): number => word() / 2 ** 32;
  const exponential = (mean: number): number => -Math.log(1 - next()) * mean;
  return {
    next,
    exponential,
    normal: () => Math.sqrt(2 * exponential(1)) * Math.cos(2 * Math.PI * next()),
    pick: (from) => {
      if (from.length === 0) throw new RangeError("nothing to pick from");
      return from[Math.floor(next() * from.length)] as (typeof from)[number];
    },
  };
}

/** Words of 32 bits. */
export function sfc32(first: number, second: number, third: number): () => number {
  let [a, b, c] = [first, second, third];
  let counter = 1;
  const word = (): number => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  // The author's advice: after 12 rounds the seed's bits have reached every word.
  for (let round = 0; round < 12; round++) word();
  return word;
}

/** Spreads one word over as many as a generator's state needs. */
function splitmix32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return mixed ^ (mixed >>> 15);
  };
}
