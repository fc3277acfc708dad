import { Environments, type Seen, type Verdict } from "../belief/environments.ts";
import { LearntHabit } from "../belief/evidence.ts";
import { unlearntPrior, type Latest } from "../belief/hypotheses.ts";
import { Crowd } from "./crowd.ts";
import { fewest, Gaps, horizon } from "./gaps.ts";
import { Pool } from "./pool.ts";
import { hashOf, Sample } from "./sample.ts";
import { Sender } from "./sender.ts";
import { LearntSender, PooledSender, SteadySender } from "./seen.ts";

/** Who is still to be expected: a sender by name, or so many that are not told apart. */
export interface Suspect {
  readonly sender: string | undefined;
  readonly count: number;
  /** Requests expected of it within one `convergence` after a stop now. */
  readonly loss: number;
  /** Its mean rate before, per second. */
  readonly perSecond: number;
  /** Milliseconds since its last arrival, or since the deletion. */
  readonly silence: number;
}

/** Senders of which the same was seen. */
interface Judged {
  readonly name: string | undefined;
  readonly seen: Seen;
  readonly count: number;
}

/** New connections by sender: a sample of senders that are told apart, and the crowd of the others. Memory and a verdict are bounded; one arrival costs O(1). */
export class SenderTable {
  readonly #capacity: number;
  readonly #prestop: number;
  readonly #key: number;
  readonly #senders = new Map<string, Sender>();
  readonly #sample = new Sample();
  #sampledAnew = -Infinity;
  #crowd: Crowd | undefined;
  /** Of all arrivals together, and for how long there were none though many were due. */
  readonly #load = { gaps: new Gaps(), last: -Infinity, paused: 0 };
  #watchingFrom: number;
  #heldFrom = Infinity;
  #gapsBefore = 0;
  /** What the senders come to, until the next observation. */
  #prepared: readonly Judged[] | undefined;

  constructor(capacity: number, prestop: number, watchingFrom: number, key: number) {
    this.#key = key;
    this.#capacity = capacity;
    this.#prestop = prestop;
    this.#watchingFrom = watchingFrom;
  }

  get size(): number {
    return this.#senders.size;
  }

  watchingFrom(at: number): void {
    this.#prepared = undefined;
    this.#watchingFrom = at;
  }

  heldFrom(at: number): void {
    this.#heldFrom = at;
    this.#gapsBefore = this.#load.gaps.count;
  }

  arrival(name: string, at: number): void {
    this.#prepared = undefined;
    const held = at >= this.#heldFrom;
    this.#noteLoad(at, held);
    const sender = this.#senders.get(name);
    if (sender) {
      sender.meet(at, this.#load, held);
      return;
    }
    const hash = hashOf(name, this.#key);
    // Whom the hold waits for is not given up for those that come only now: of these the crowd's own sample says how many they are.
    const before = this.#heldFrom === Infinity;
    if (before)
      while (this.#isFull && this.#sample.has(hash) && this.#sample.share > leastShare) this.#makeRoom(at);
    if (this.#sample.has(hash) && !this.#isFull)
      this.#senders.set(name, new Sender(hash, at, this.#load.paused));
    else {
      this.#crowdNow.arrival(hash, at, held ? this.#since(at) : undefined);
      if (before) this.#useRoom(at);
    }
  }

  /** A request, since the hold began, on a connection of before that has not been asked to close. */
  request(name: string, at: number): void {
    this.#prepared = undefined;
    const sender = this.#senders.get(name);
    if (sender) (sender.pool ??= new Pool()).request(at);
  }

  /** A connection that made so many of those requests is asked to close. */
  asked(name: string, requests: number, at: number): void {
    this.#prepared = undefined;
    this.#senders.get(name)?.pool?.asked(requests, at);
  }

  /** Whose rates are told are few, and always told apart. */
  rate(name: string, perMillisecond: number): void {
    this.#prepared = undefined;
    const sender = this.#senders.get(name) ?? new Sender(hashOf(name, this.#key), -Infinity, 0);
    sender.rate = perMillisecond;
    this.#senders.set(name, sender);
  }

  /** What is to be expected if the pod stopped at `now`, given what was believed of environments before. */
  weigh(now: number, convergence: number, prior: readonly number[]): Verdict {
    const environments = new Environments(convergence, prior, this.#since(now), this.#latest);
    for (const { seen, count } of this.#judged()) environments.see(seen, count);
    return environments.verdict();
  }

  /** Whose arrivals are still to be expected, if hypotheses have these weights: those of whom most is, first. */
  suspects(now: number, convergence: number, weights: readonly number[]): Suspect[] {
    const since = this.#since(now);
    const suspects = new Map<string | undefined, Suspect>();
    for (const { name, seen, count } of this.#judged()) {
      const environments = new Environments(convergence, unlearntPrior(), since, this.#latest);
      environments.see(seen, count);
      const before = suspects.get(name);
      suspects.set(name, {
        sender: name,
        count: count + (before?.count ?? 0),
        loss: environments.lossUnder(weights) + (before?.loss ?? 0),
        perSecond: seen.rate * count * 1_000 + (before?.perSecond ?? 0),
        silence: Math.min(since - Math.min(seen.last, since), before?.silence ?? Infinity),
      });
    }
    return [...suspects.values()]
      .map((suspect) => ({ ...suspect, count: Math.ceil(suspect.count) }))
      .sort((a, b) => b.loss - a.loss);
  }

  /** A silence that nobody watched is none. */
  get #deletedAt(): number {
    return Math.max(this.#heldFrom - this.#prestop, this.#watchingFrom);
  }

  #since(now: number): number {
    return Math.max(0, now - this.#deletedAt);
  }

  /** A lone sender may always have been about to go on, and of a load that was hardly seen before nobody knows its lulls. */
  get #latest(): Latest {
    const { last, gaps } = this.#load;
    const unknown = (this.#senders.size === 1 && !this.#crowd) || this.#gapsBefore < fewestGapsBefore;
    return { at: unknown ? 0 : this.#since(last), rate: gaps.habit().rate };
  }

  get #crowdNow(): Crowd {
    return (this.#crowd ??= new Crowd(this.#watchingFrom));
  }

  #noteLoad(at: number, held: boolean): void {
    const load = this.#load;
    const gap = at - load.last;
    if (load.last > -Infinity && load.gaps.add(Math.max(0, gap), held, fewest.ofAll)) load.paused += gap;
    load.last = Math.max(load.last, at);
  }

  /** Asked for many moments between two observations, senders are prepared once. */
  #judged(): readonly Judged[] {
    return (this.#prepared ??= [...this.#prepare(this.#deletedAt)]);
  }

  *#prepare(deletedAt: number): Generator<Judged> {
    const seenOnce: string[] = [];
    for (const [name, sender] of this.#senders) {
      // Of those seen once, and not since the deletion, nothing else is known: they are all alike.
      const once = sender.rate === undefined && sender.gaps.count === 0;
      if (once && !sender.pool && sender.last <= deletedAt && sender.last >= this.#watchingFrom + 1) {
        seenOnce.push(name);
        continue;
      }
      const seen = this.#seen(sender, deletedAt);
      if (seen) yield { name, seen, count: 1 };
    }
    if (seenOnce.length > 0) {
      const habit = new LearntHabit(1, deletedAt - this.#watchingFrom, 0);
      const name = seenOnce.length === 1 ? seenOnce[0] : undefined;
      yield { name, seen: new LearntSender(habit, 0, undefined), count: seenOnce.length };
    }
    for (const members of this.#crowd?.members(this.#crowdSize(), deletedAt) ?? [])
      yield { name: undefined, ...members };
  }

  #seen(sender: Sender, deletedAt: number): Seen | undefined {
    // Silence before the deletion proves nothing about routing: it is part of the sender's habit.
    const last = Math.max(0, sender.last - deletedAt);
    if (sender.rate !== undefined) return new SteadySender(sender.rate, last);
    const idleBefore = Math.max(0, deletedAt - sender.last);
    const { gaps, pool, recentGap } = sender;
    const left = sender.hasLeft(idleBefore);
    if (left && gaps.areOfLongStanding) return undefined;
    const cameOnce = left || gaps.count === 0;
    const usual = cameOnce
      ? new LearntHabit(1, idleBefore + Math.max(1, sender.last - this.#watchingFrom), 0)
      : gaps.habit(idleBefore);
    const habit = pool?.returning ?? usual;
    // An address that several senders share goes on at a lower rate when some of them have let go.
    const slowed = gaps.count >= fewestRecentGaps && last > 0 && recentGap * habit.rate > 1;
    const connections = new LearntSender(habit, last, slowed ? recentGap : undefined);
    const requests = pool?.habit;
    return pool && requests
      ? new PooledSender(connections, requests, pool.last - deletedAt - last)
      : connections;
  }

  get #isFull(): boolean {
    return this.#senders.size >= this.#capacity;
  }

  /**
   * Senders that have long fallen silent go first; where most are here, half of them go to the crowd. But those that come most often stay: a crowd that
   * comes once must not hide them.
   */
  #makeRoom(at: number): void {
    this.#sampledAnew = at;
    this.#dropSilent(at);
    if (this.#senders.size <= 0.75 * this.#capacity) return;
    this.#sample.halve();
    const regulars = new Set(this.#outside().slice(0, Math.min(mostRegulars, this.#capacity / 4)));
    for (const [name, sender] of this.#senders) {
      if (this.#isSampled(sender) || (regulars.has(sender) && sender.gaps.count >= fewestOfRegular)) continue;
      this.#crowdNow.join(sender);
      this.#senders.delete(name);
    }
  }

  #isSampled({ hash, rate }: Sender): boolean {
    return rate !== undefined || this.#sample.has(hash);
  }

  /** Those that are told apart although they are not in the sample: those that come most often first. */
  #outside(): Sender[] {
    const outside = [...this.#senders.values()].filter((sender) => !this.#isSampled(sender));
    return outside.sort((a, b) => b.gaps.count - a.gaps.count);
  }

  #crowdSize(): number {
    const outside = this.#outside().length;
    return (this.#senders.size - outside) * (1 / this.#sample.share - 1) - outside;
  }

  /** A crowd that has gone leaves room for a larger share of those that come; its own part of the sample goes with it. */
  #useRoom(at: number): void {
    if (at - this.#sampledAnew < horizon) return;
    this.#sampledAnew = at;
    this.#dropSilent(at);
    const sampled = this.#senders.size - this.#outside().length;
    for (let expected = sampled; expected <= this.#capacity / 4; expected *= 2) {
      if (this.#sample.share === 1) return;
      this.#sample.double();
    }
  }

  #dropSilent(at: number): void {
    for (const [name, { last, rate }] of this.#senders)
      if (rate === undefined && at - last > horizon) this.#senders.delete(name);
  }
}

/** A table that is full of senders whose hashes are low by chance, or by a key that is known, is no sample of ever so many. */
const leastShare = 2 ** -16;

/** So many senders are told apart for coming often, where they are not in the sample; each has made so many gaps at least. */
const mostRegulars = 32;
const fewestOfRegular = 8;

/** Of all senders together, to know their lulls by. */
const fewestGapsBefore = 50;

/** Until then a recent gap is chance. */
const fewestRecentGaps = 4;
