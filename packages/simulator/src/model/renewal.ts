import { gammaCumulative } from "../kernel/gamma.ts";

/** Points to a decade of what is interpolated, and its ends, in mean gaps. */
const perDecade = 8;
const shortest = 1e-6;
const longest = 1e3;
/** Points on each half of an integral, the closest this part of it from its end. */
const steps = 100;
const closest = 1e-9;

/**
 * Arrivals with gamma gaps: how many are to be expected in a time, given for how long there was none. In bursts that differs much from rate x time:
 * after a long silence the next burst is far, after an arrival the next one is near. Times are in mean gaps.
 */
export class GammaRenewal {
  readonly #shape: number;
  readonly #scale: number;
  readonly #renewals = new Map<number, number>();
  readonly #expected = new Map<number, number>();

  /** `cv`: coefficient of variation of the gaps. */
  constructor(cv: number) {
    this.#shape = 1 / cv ** 2;
    this.#scale = cv ** 2;
  }

  /** Arrivals expected in the next `time`, the last one having come `age` ago. */
  expected(age: number, time: number): number {
    if (time <= 0) return 0;
    if (time > longest) return this.expected(age, longest) + time - longest;
    if (time < shortest) return (this.expected(age, shortest) * time) / shortest;
    const [row, byRow] = place(Math.min(longest, Math.max(shortest, age)));
    const [column, byColumn] = place(time);
    const along = (fixed: number): number =>
      (1 - byColumn) * this.#logExpected(fixed, column) + byColumn * this.#logExpected(fixed, column + 1);
    return Math.exp((1 - byRow) * along(row) + byRow * along(row + 1));
  }

  #logExpected(row: number, column: number): number {
    return remembered(this.#expected, row * 1_000 + column, () =>
      logarithm(this.#integrated(valueAt(row), valueAt(column))),
    );
  }

  /** The same from the renewal equation: the first arrival comes after a residual gap, and from there on they renew. */
  #integrated(age: number, time: number): number {
    const survival = this.#survival(age);
    // After so long a silence only the exponential tail matters.
    const goneBy = (x: number): number =>
      survival > 1e-9 ? 1 - this.#survival(age + x) / survival : -Math.expm1(-x / this.#scale);
    let expected = 0;
    let gone = 0;
    let toCome = 1 + this.#renewed(time);
    for (const x of [...pointsUpTo(time), time]) {
      const goneThen = goneBy(x);
      const toComeThen = 1 + this.#renewed(time - x);
      expected += ((goneThen - gone) * (toCome + toComeThen)) / 2;
      gone = goneThen;
      toCome = toComeThen;
    }
    return expected;
  }

  /** The chance of a gap longer than that. */
  #survival(gap: number): number {
    return 1 - gammaCumulative(this.#shape, gap / this.#scale);
  }

  /** The renewal function: arrivals expected in the `time` after one. */
  #renewed(time: number): number {
    if (time < shortest * closest) return 0;
    if (time > 20 * Math.max(1, this.#scale)) return time + (this.#scale - 1) / 2;
    const [index, part] = place(time);
    const at = (index: number): number =>
      remembered(this.#renewals, index, () => {
        let sum = 0;
        for (let n = 1; ; n++) {
          const chance = gammaCumulative(n * this.#shape, valueAt(index) / this.#scale);
          sum += chance;
          if (chance <= 1e-12 * sum) return logarithm(sum);
        }
      });
    return Math.exp((1 - part) * at(index) + part * at(index + 1));
  }
}

/** Crowded at both ends, where bursts make all the difference. */
function pointsUpTo(time: number): number[] {
  const parts = Array.from({ length: steps }, (_, step) => 0.5 * (2 * closest) ** (1 - step / (steps - 1)));
  return [
    ...parts,
    ...parts
      .slice(0, -1)
      .reverse()
      .map((part) => 1 - part),
  ].map((part) => part * time);
}

/** Where a value lies on the logarithmic scale: the point below it, and how far it is from there to the next. */
function place(value: number): readonly [index: number, part: number] {
  const position = Math.log10(value / shortest) * perDecade;
  const index = Math.floor(position);
  return [index, position - index];
}

function valueAt(index: number): number {
  return shortest * 10 ** (index / perDecade);
}

/** Finite also where nothing is to come. */
function logarithm(value: number): number {
  return Math.log(Math.max(value, Number.MIN_VALUE));
}

function remembered(known: Map<number, number>, key: number, find: () => number): number {
  let value = known.get(key);
  if (value === undefined) known.set(key, (value = find()));
  return value;
}
