/** Index of the first of the rising values that is above `value`; the number of values where no value is. */
export function firstAbove(values: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle]! > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * The same for many values below the last one, each found in a step or two however many there are: an index for every equal part of the range
 * says where to begin (Chen and Asau's guide table).
 */
export class Guide {
  readonly #values: ArrayLike<number>;
  readonly #begins: Uint32Array;
  readonly #parts: number;

  constructor(values: ArrayLike<number>) {
    const last = values[values.length - 1]!;
    this.#values = values;
    this.#parts = values.length / last;
    this.#begins = new Uint32Array(values.length);
    let index = 0;
    for (let part = 0; part < values.length; part++) {
      while (values[index]! * this.#parts <= part) index++;
      this.#begins[part] = index;
    }
  }

  firstAbove(value: number): number {
    const values = this.#values;
    let index = this.#begins[Math.floor(value * this.#parts)]!;
    // Where rounding has led a part too far.
    while (index > 0 && values[index - 1]! > value) index--;
    while (values[index]! <= value) index++;
    return index;
  }
}
