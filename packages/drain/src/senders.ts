import { expectedLoss, expectedLossOfCrowd, knownHabit, learntHabit } from "./evidence.ts";

/** Habits older than this fade: traffic of last night says little about this minute. */
const horizon = 120_000;

interface Sender {
  last: number;
  /** Gaps between arrivals, and their sum; halved together at the horizon. */
  gaps: number;
  exposure: number;
  longestGap: number;
  previousLongestGap: number;
  /** Per millisecond, where told. */
  rate: number | undefined;
}

/** Senders beyond the table's size, counted together. Each arrival counts as a sender of its own: the cautious reading. */
interface Crowd {
  from: number;
  last: number;
  arrivals: number;
  told: number;
  toldRate: number;
}

/** New connections by sender, in bounded memory. One arrival costs O(1), a verdict O(senders). */
export class SenderTable {
  readonly #capacity: number;
  readonly #senders = new Map<string, Sender>();
  #crowd: Crowd | undefined;
  #foldedSinceSweep = 0;
  #watchingFrom: number;

  constructor(capacity: number, watchingFrom: number) {
    this.#capacity = capacity;
    this.#watchingFrom = watchingFrom;
  }

  get size(): number {
    return this.#senders.size;
  }

  watchingFrom(at: number): void {
    this.#watchingFrom = at;
  }

  arrival(name: string, at: number): void {
    const sender = this.#senders.get(name);
    if (sender) meet(sender, at);
    else if (this.#hasRoom(at)) this.#senders.set(name, newSender(at));
    else {
      const crowd = this.#crowdAt(at);
      crowd.arrivals++;
      crowd.last = Math.max(crowd.last, at);
    }
  }

  rate(name: string, perMillisecond: number, at: number): void {
    const sender = this.#senders.get(name);
    if (sender) sender.rate = perMillisecond;
    else if (this.#hasRoom(at)) this.#senders.set(name, { ...newSender(-Infinity), rate: perMillisecond });
    else {
      const crowd = this.#crowdAt(at);
      crowd.told++;
      crowd.toldRate += perMillisecond;
    }
  }

  /** Requests expected to arrive still if the pod, deleted at `deletedAt`, stopped at `now`. */
  expectedLoss(now: number, deleted: number, convergence: number): number {
    // A silence that nobody watched is none.
    const deletedAt = Math.max(deleted, this.#watchingFrom);
    let loss = 0;
    for (const sender of this.#senders.values()) loss += this.#lossOf(sender, now, deletedAt, convergence);
    return loss + this.#lossOfCrowd(now, deletedAt, convergence);
  }

  #lossOf(sender: Sender, now: number, deletedAt: number, convergence: number): number {
    // Silence before the deletion proves nothing about routing: it is part of the sender's habit.
    const silence = Math.max(0, now - Math.max(sender.last, deletedAt));
    if (sender.rate !== undefined)
      return expectedLoss(knownHabit(sender.rate, silence), silence, convergence);
    const idleBefore = Math.max(0, deletedAt - sender.last);
    if (sender.gaps === 0) {
      // Seen once: as many arrivals are due from senders seen never as from senders seen once (Good and Turing), hence twice.
      const exposure = Math.max(1, sender.last - this.#watchingFrom) + idleBefore;
      return 2 * expectedLoss(learntHabit(1, exposure, 0, silence), silence, convergence);
    }
    const longest = Math.max(sender.longestGap, sender.previousLongestGap);
    if (learntHabit(sender.gaps, sender.exposure, longest, idleBefore).surprise > goneSurprise) return 0;
    const habit = learntHabit(sender.gaps, sender.exposure + idleBefore, longest, silence);
    return expectedLoss(habit, silence, convergence);
  }

  #lossOfCrowd(now: number, deletedAt: number, convergence: number): number {
    const crowd = this.#crowd;
    if (!crowd) return 0;
    const silence = Math.max(0, now - Math.max(crowd.last, deletedAt));
    const exposure = Math.max(1, crowd.last - crowd.from);
    const arrivals = crowd.arrivals * 0.5 ** (Math.max(0, deletedAt - crowd.last) / horizon);
    const rate = arrivals / exposure + crowd.toldRate;
    return expectedLossOfCrowd(arrivals + crowd.told, rate, silence, convergence);
  }

  #crowdAt(at: number): Crowd {
    this.#foldedSinceSweep++;
    this.#crowd ??= { from: this.#watchingFrom, last: -Infinity, arrivals: 0, told: 0, toldRate: 0 };
    if (at - this.#crowd.from > horizon) {
      this.#crowd.from = at - (at - this.#crowd.from) / 2;
      this.#crowd.arrivals /= 2;
    }
    return this.#crowd;
  }

  /** When the table is full, senders that have long fallen silent make room; looking for them is spread over many arrivals. */
  #hasRoom(at: number): boolean {
    if (this.#senders.size < this.#capacity) return true;
    if (this.#foldedSinceSweep < this.#capacity) return false;
    this.#foldedSinceSweep = 0;
    for (const [name, sender] of this.#senders)
      if (sender.rate === undefined && at - sender.last > horizon) this.#senders.delete(name);
    return this.#senders.size < this.#capacity;
  }
}

/** A sender whose silence before the deletion had a chance of 1e-9 has gone for reasons of its own. */
const goneSurprise = -Math.log(1e-9);

function newSender(at: number): Sender {
  return { last: at, gaps: 0, exposure: 0, longestGap: 0, previousLongestGap: 0, rate: undefined };
}

function meet(sender: Sender, at: number): void {
  if (Number.isFinite(sender.last)) {
    const gap = Math.max(0, at - sender.last);
    sender.gaps++;
    sender.exposure += gap;
    sender.longestGap = Math.max(sender.longestGap, gap);
    if (sender.exposure > horizon) {
      sender.gaps /= 2;
      sender.exposure /= 2;
      sender.previousLongestGap = sender.longestGap;
      sender.longestGap = 0;
    }
  }
  sender.last = Math.max(sender.last, at);
}
