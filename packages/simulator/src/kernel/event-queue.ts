/** What happens when an event's time has come. `subject` is a number of the caller's choice: which pod, which node. */
export type Action = (subject: number) => void;

/**
 * Events in order of time. Events of the same time come in the order in which they were scheduled.
 * A four-ary heap on typed arrays: half as deep as a binary one, and no allocation per event.
 */
export class EventQueue {
  /** The heap: times, and in which slot the rest of each event is. */
  #times = new Float64Array(64);
  #slots = new Int32Array(64);
  #size = 0;
  /** The event that runs has left the root, and none has taken its place yet: most events schedule the next one, and that is put there at once. */
  #rootIsFree = false;
  /** By slot. An action is kept until its slot is used again: clearing it would cost a twentieth of the run time. */
  readonly #actions: Action[] = [];
  #subjects = new Float64Array(64);
  #orders = new Float64Array(64);
  #scheduled = 0;
  /** Slots that were used and are free again. Slots from #used on were never used. */
  #free = new Int32Array(64);
  #freed = 0;
  #used = 0;

  get size(): number {
    return this.#rootIsFree ? this.#size - 1 : this.#size;
  }

  /** Time of the next event; Infinity when there is none. */
  get nextTime(): number {
    if (this.#rootIsFree) this.#fillRoot();
    return this.#size === 0 ? Infinity : this.#times[0]!;
  }

  push(time: number, action: Action, subject: number): void {
    if (this.#size === this.#times.length) this.#grow();
    const slot = this.#freed > 0 ? this.#free[--this.#freed]! : this.#used++;
    this.#actions[slot] = action;
    this.#subjects[slot] = subject;
    this.#orders[slot] = this.#scheduled++;
    if (this.#rootIsFree) {
      this.#rootIsFree = false;
      this.#sink(time, slot);
    } else this.#rise(this.#size++, time, slot);
  }

  /** Takes the next event out and runs it. */
  runNext(): void {
    if (this.#rootIsFree) this.#fillRoot();
    const slot = this.#slots[0]!;
    this.#free[this.#freed++] = slot;
    this.#rootIsFree = true;
    this.#actions[slot]!(this.#subjects[slot]!);
  }

  #fillRoot(): void {
    this.#rootIsFree = false;
    const last = --this.#size;
    if (last > 0) this.#sink(this.#times[last]!, this.#slots[last]!);
  }

  #rise(from: number, time: number, slot: number): void {
    const times = this.#times;
    const slots = this.#slots;
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >> 2;
      // A new event is the youngest: at equal times it comes last.
      if (times[parent]! <= time) break;
      times[index] = times[parent]!;
      slots[index] = slots[parent]!;
      index = parent;
    }
    times[index] = time;
    slots[index] = slot;
  }

  /** From the root. */
  #sink(time: number, slot: number): void {
    const times = this.#times;
    const slots = this.#slots;
    const orders = this.#orders;
    const size = this.#size;
    let index = 0;
    for (;;) {
      const first = 4 * index + 1;
      if (first >= size) break;
      const end = Math.min(first + 4, size);
      let least = first;
      let earliest = times[first]!;
      for (let child = first + 1; child < end; child++) {
        const at = times[child]!;
        if (at > earliest || (at === earliest && orders[slots[child]!]! > orders[slots[least]!]!)) continue;
        least = child;
        earliest = at;
      }
      if (earliest > time || (earliest === time && orders[slots[least]!]! > orders[slot]!)) break;
      times[index] = earliest;
      slots[index] = slots[least]!;
      index = least;
    }
    times[index] = time;
    slots[index] = slot;
  }

  #grow(): void {
    this.#times = twiceAsLong(this.#times, Float64Array);
    this.#slots = twiceAsLong(this.#slots, Int32Array);
    this.#subjects = twiceAsLong(this.#subjects, Float64Array);
    this.#orders = twiceAsLong(this.#orders, Float64Array);
    this.#free = twiceAsLong(this.#free, Int32Array);
  }
}

function twiceAsLong<Values extends Float64Array | Int32Array>(
  values: Values,
  Kind: new (length: number) => Values,
): Values {
  const longer = new Kind(2 * values.length);
  longer.set(values);
  return longer;
}
