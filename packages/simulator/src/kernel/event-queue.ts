/** What happens when an event's time has come. `subject` is a number of the caller's choice: which pod, which node. */
export type Action = (subject: number) => void;

/**
 * Events in order of time; those of the same time in the order in which they were scheduled, whatever the heap does.
 * A four-ary heap on typed arrays: half as deep as a binary one, and no allocation per event.
 */
export class EventQueue {
  #times = new Float64Array(1024);
  #orders = new Float64Array(1024);
  #slots = new Int32Array(1024);
  /** An action stays until its slot is used again: to wipe it costs a twentieth of all. */
  readonly #actions: Action[] = [];
  #subjects = new Float64Array(1024);
  /** Slots that were used and are free again; beyond #used none has been. */
  #free = new Int32Array(1024);
  #freed = 0;
  #used = 0;
  #size = 0;
  #scheduled = 0;

  get size(): number {
    return this.#size;
  }

  /** Time of the next event; Infinity when there is none. */
  get nextTime(): number {
    return this.#size === 0 ? Infinity : this.#times[0]!;
  }

  push(time: number, action: Action, subject: number): void {
    if (this.#size === this.#times.length) this.#grow();
    const slot = this.#freed > 0 ? this.#free[--this.#freed]! : this.#used++;
    this.#actions[slot] = action;
    this.#subjects[slot] = subject;
    this.#rise(this.#size++, time, this.#scheduled++, slot);
  }

  /** Takes the next event out and runs it. */
  runNext(): void {
    const slot = this.#slots[0]!;
    const action = this.#actions[slot]!;
    const subject = this.#subjects[slot]!;
    this.#free[this.#freed++] = slot;
    const last = --this.#size;
    if (last > 0) this.#sink(this.#times[last]!, this.#orders[last]!, this.#slots[last]!);
    action(subject);
  }

  #rise(from: number, time: number, order: number, slot: number): void {
    const times = this.#times;
    const orders = this.#orders;
    const slots = this.#slots;
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >> 2;
      // A new event is the youngest: at equal times it stays behind.
      if (times[parent]! <= time) break;
      times[index] = times[parent]!;
      orders[index] = orders[parent]!;
      slots[index] = slots[parent]!;
      index = parent;
    }
    times[index] = time;
    orders[index] = order;
    slots[index] = slot;
  }

  #sink(time: number, order: number, slot: number): void {
    const times = this.#times;
    const orders = this.#orders;
    const slots = this.#slots;
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
        if (at > earliest || (at === earliest && orders[child]! > orders[least]!)) continue;
        least = child;
        earliest = at;
      }
      if (earliest > time || (earliest === time && orders[least]! > order)) break;
      times[index] = earliest;
      orders[index] = orders[least]!;
      slots[index] = slots[least]!;
      index = least;
    }
    times[index] = time;
    orders[index] = order;
    slots[index] = slot;
  }

  #grow(): void {
    const capacity = this.#times.length * 2;
    const times = new Float64Array(capacity);
    const orders = new Float64Array(capacity);
    const slots = new Int32Array(capacity);
    times.set(this.#times);
    orders.set(this.#orders);
    slots.set(this.#slots);
    const subjects = new Float64Array(capacity);
    subjects.set(this.#subjects);
    const free = new Int32Array(capacity);
    free.set(this.#free);
    this.#subjects = subjects;
    this.#free = free;
    this.#times = times;
    this.#orders = orders;
    this.#slots = slots;
  }
}
