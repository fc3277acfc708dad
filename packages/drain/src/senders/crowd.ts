import { leftSurprise } from "../belief/evidence.ts";
import { Gaps } from "./gaps.ts";
import { Sample } from "./sample.ts";
import type { Sender } from "./sender.ts";
import { SteadySender } from "./seen.ts";

/** So many of those that came since the deletion are told apart, by when they came last. */
const mostLate = 128;

/** Those times in classes, each a quarter wider than the one before, ms. */
const firstClass = 50;
const wider = 1.25;

/** Senders of which the same is known. */
export interface Members {
  readonly count: number;
  readonly seen: SteadySender;
}

/**
 * All senders that are not told apart. How many there are, the sample of the others tells; and a second sample, which of them have come since the deletion
 * and when last. Each comes by chance, at its part of their common rate.
 */
export class Crowd {
  readonly #from: number;
  readonly #gaps = new Gaps();
  /** Of its arrivals, those in the hold. */
  #held = 0;
  #last: number;
  /** Before SIGTERM. */
  #lastBefore: number;
  /** By hash, ms after the deletion. */
  readonly #late = new Map<number, number>();
  readonly #sample = new Sample();

  constructor(from: number) {
    this.#from = from;
    this.#last = from;
    this.#lastBefore = from;
  }

  /** `since`: after the deletion, of an arrival in the hold. */
  arrival(hash: number, at: number, since: number | undefined): void {
    const gap = Math.max(0, at - this.#last);
    // In the hold, gaps grow because one sender after the other lets go: that tells of no bursts.
    if (since === undefined) this.#gaps.add(gap, false);
    else {
      this.#gaps.take(1, gap);
      this.#held++;
    }
    this.#came(hash, at, since);
  }

  /** One that was told apart until now; before the hold. */
  join({ hash, gaps, last }: Sender): void {
    this.#gaps.take(gaps.count + 1, Math.max(0, last - this.#last));
    this.#came(hash, last, undefined);
  }

  /** As so many equal senders. */
  *members(senders: number, deletedAt: number): Generator<Members> {
    const idle = Math.max(0, deletedAt - this.#last);
    const habit = this.#gaps.habit(idle);
    // As of a sender: silence before the deletion that had such a chance was its leaving. Then it is one that came once.
    const hasLeft = this.#gaps.habit().surprise(idle) > leftSurprise;
    const each = 1 / this.#sample.share;
    const count = Math.max(1, hasLeft ? 0 : senders, this.#late.size * each);
    const rate = hasLeft ? 1 / Math.max(1, deletedAt - this.#from) : habit.rate / count;
    // They may all come again; but that those do not who came in the hold for the first time is no surprise.
    const habitual = hasLeft ? 0 : 1 - this.#held / Math.max(1, this.#gaps.count);
    const slope = Math.min(1, habit.slope / habit.rate) * rate * habitual;
    let silent = count;
    const members = (part: number, last: number): Members => {
      silent -= part;
      return { count: part, seen: new SteadySender(rate, last, slope) };
    };
    for (const times of this.#lateTimes().values())
      yield members(times.length * each, times.reduce((sum, time) => sum + time, 0) / times.length);
    // Nobody counted them between the deletion and SIGTERM: as many as are due come in such a time, and all of them as late as they may have.
    const unseen = Math.max(0, this.#lastBefore - deletedAt);
    if (unseen > 0) yield members(silent * -Math.expm1(-rate * unseen), unseen);
    if (silent > 0) yield members(silent, 0);
  }

  #came(hash: number, at: number, since: number | undefined): void {
    this.#last = Math.max(this.#last, at);
    if (since === undefined) {
      this.#lastBefore = Math.max(this.#lastBefore, at);
      return;
    }
    // All hashes of a crowd are high; their last digits are not.
    const mixed = Math.imul(hash, 0x9e3779b1) >>> 0;
    if (!this.#sample.has(mixed)) return;
    this.#late.set(mixed, Math.max(since, this.#late.get(mixed) ?? 0));
    while (this.#late.size > mostLate) {
      this.#sample.halve();
      for (const one of this.#late.keys()) if (!this.#sample.has(one)) this.#late.delete(one);
    }
  }

  #lateTimes(): Map<number, number[]> {
    const classes = new Map<number, number[]>();
    for (const time of this.#late.values()) {
      let end = firstClass;
      while (end < time) end *= wider;
      const others = classes.get(end);
      if (others) others.push(time);
      else classes.set(end, [time]);
    }
    return classes;
  }
}
