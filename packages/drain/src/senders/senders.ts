import type { AggregateSeen } from "../belief/aggregate.ts";
import { Environments, mixture, type Seen, type Verdict } from "../belief/environments.ts";
import { knownHabit, LearntHabit } from "../belief/evidence.ts";
import { Pool } from "./pool.ts";
import { hasLeft, horizon, isOfLongStanding, longestGapOf, meet, newSender, type Sender } from "./sender.ts";
import { LearntSender, PooledSender, ToldSender } from "./seen.ts";

/** Senders beyond the table's size, counted together. Each arrival counts as a sender of its own: the cautious reading. */
interface Aggregate {
  from: number;
  last: number;
  arrivals: number;
  /** Of them, since the hold began. */
  late: number;
  known: number;
  knownRate: number;
}

/** What was seen of a sender, read in two ways. */
interface Readings {
  readonly seen: Seen;
  /** The same if requests on connections of before come and go by themselves, so that their silence says nothing. */
  readonly atRest: Seen;
}

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

/** Senders of which the same was seen, and how many each of them stands for. */
interface Judged extends Readings {
  readonly name: string | undefined;
  readonly count: number;
  readonly alike: number;
}

/**
 * New connections by sender, in bounded memory. One arrival costs O(1), a verdict O(senders).
 *
 * Times come from a clock that stands still while nothing can be seen: no silence in that time counts. But what arrives meanwhile waits and
 * is seen afterwards, so that gaps, from which rates are learnt, are measured by the clock that goes on (`at`).
 */
export class SenderTable {
  readonly #capacity: number;
  readonly #senders = new Map<string, Sender>();
  #aggregate: Aggregate | undefined;
  #foldedSinceSweep = 0;
  #watchingFrom: number;
  #heldFrom = Infinity;
  /** What the senders come to, until the next observation. */
  #prepared: { readonly deletedAt: number; readonly senders: readonly Judged[] } | undefined;

  constructor(capacity: number, watchingFrom: number) {
    this.#capacity = capacity;
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
  }

  arrival(name: string, seen: number, at: number): void {
    this.#prepared = undefined;
    const sender = this.#senders.get(name);
    if (sender) meet(sender, seen, at);
    else if (this.#hasRoom(seen)) this.#senders.set(name, newSender(seen, at));
    else {
      const aggregate = this.#aggregateAt(seen);
      aggregate.arrivals++;
      if (seen >= this.#heldFrom) aggregate.late++;
      aggregate.last = Math.max(aggregate.last, seen);
    }
  }

  /** A request, since the hold began, on a connection of before that has not been asked to close. */
  request(name: string, seen: number, at: number): void {
    this.#prepared = undefined;
    const sender = this.#senders.get(name);
    if (sender) (sender.pool ??= new Pool()).request(seen, at);
  }

  /** A connection that made so many of those requests is asked to close. */
  asked(name: string, requests: number, at: number): void {
    this.#prepared = undefined;
    this.#senders.get(name)?.pool?.asked(requests, at);
  }

  rate(name: string, perMillisecond: number, at: number): void {
    this.#prepared = undefined;
    const sender = this.#senders.get(name);
    if (sender) sender.rate = perMillisecond;
    else if (this.#hasRoom(at))
      this.#senders.set(name, { ...newSender(-Infinity, -Infinity), rate: perMillisecond });
    else {
      const aggregate = this.#aggregateAt(at);
      aggregate.known++;
      aggregate.knownRate += perMillisecond;
    }
  }

  /** What is to be expected if the pod, deleted at `deleted`, stopped at `now`, given what was believed of environments before. */
  weigh(now: number, deleted: number, convergence: number, prior: readonly number[]): Verdict {
    // A silence that nobody watched is none.
    const deletedAt = Math.max(deleted, this.#watchingFrom);
    const judged = this.#judged(deletedAt);
    const verdict = (reading: keyof Readings): Verdict => {
      const environments = new Environments(convergence, prior, Math.max(0, now - deletedAt));
      for (const sender of judged) environments.see(sender[reading], sender.count, sender.alike);
      this.#addAggregate(environments, now, deletedAt);
      return environments.verdict();
    };
    const steady = verdict("seen");
    const arePooled = judged.some(({ seen, atRest }) => seen !== atRest);
    return arePooled ? mixture(verdict("atRest"), resting, steady) : steady;
  }

  /** Whose arrivals are still to be expected, if hypotheses have these weights: those of whom most is, first. */
  suspects(now: number, deleted: number, convergence: number, weights: readonly number[]): Suspect[] {
    const deletedAt = Math.max(deleted, this.#watchingFrom);
    const since = Math.max(0, now - deletedAt);
    const lossOf = (see: (environments: Environments) => void): number => {
      const environments = new Environments(convergence, weights, since);
      see(environments);
      return environments.lossUnder(weights);
    };
    const suspects = this.#judged(deletedAt).map(({ name, seen, count, alike }): Suspect => ({
      sender: name,
      count,
      loss: lossOf((environments) => environments.see(seen, count, alike)),
      perSecond: seen.rate * count * 1_000,
      silence: since - Math.min(seen.last, since),
    }));
    const aggregate = this.#aggregateSeen(now, deletedAt);
    if (aggregate)
      suspects.push({
        sender: undefined,
        count: Math.ceil(aggregate.count),
        loss: lossOf((environments) => environments.seeAggregate(aggregate)),
        perSecond: aggregate.rate * 1_000,
        silence: since - aggregate.last,
      });
    return suspects.sort((a, b) => b.loss - a.loss);
  }

  /** Asked for many moments between two observations, senders are prepared once. */
  #judged(deletedAt: number): readonly Judged[] {
    if (this.#prepared?.deletedAt !== deletedAt)
      this.#prepared = { deletedAt, senders: [...this.#prepare(deletedAt)] };
    return this.#prepared.senders;
  }

  *#prepare(deletedAt: number): Generator<Judged> {
    let seenOnce = 0;
    for (const [name, sender] of this.#senders) {
      // Of those seen once, and not since the deletion, nothing else is known: they are all alike.
      const once = sender.rate === undefined && sender.gaps === 0;
      if (once && !sender.pool && sender.last <= deletedAt && sender.last >= this.#watchingFrom + 1) {
        seenOnce++;
        continue;
      }
      const seen = this.#seen(name, sender, deletedAt);
      if (seen) yield seen;
    }
    if (seenOnce === 0) return;
    const habit = new LearntHabit(1, deletedAt - this.#watchingFrom, 0);
    const alike = { name: undefined, count: seenOnce, alike: asManyNotSeen };
    yield { ...sameInBoth(new LearntSender(habit, 0, undefined)), ...alike };
  }

  #seen(name: string, sender: Sender, deletedAt: number): Judged | undefined {
    // Silence before the deletion proves nothing about routing: it is part of the sender's habit.
    const last = Math.max(0, sender.last - deletedAt);
    if (sender.rate !== undefined) return judge(name, sameInBoth(new ToldSender(sender.rate, last)));
    const idleBefore = Math.max(0, deletedAt - sender.last);
    const { gaps, exposure, pool, recentGap } = sender;
    const left = hasLeft(sender, idleBefore);
    if (left && isOfLongStanding(sender)) return undefined;
    const cameOnce = left || gaps === 0;
    const alike = cameOnce ? asManyNotSeen : 1;
    const usual = cameOnce
      ? new LearntHabit(1, idleBefore + Math.max(1, sender.last - this.#watchingFrom), 0)
      : new LearntHabit(gaps, idleBefore + exposure, longestGapOf(sender));
    const habit = pool?.returning ?? usual;
    // An address that several senders share goes on at a lower rate when some of them have let go.
    const slowed = gaps >= fewestRecentGaps && last > 0 && recentGap * habit.rate > 1;
    const atRest = new LearntSender(habit, last, slowed ? recentGap : undefined);
    const requests = pool?.habit;
    if (!pool || !requests) return judge(name, sameInBoth(atRest), alike);
    const seen = new PooledSender(atRest, requests, pool.last - deletedAt - last);
    return judge(name, { seen, atRest }, alike);
  }

  #addAggregate(environments: Environments, now: number, deletedAt: number): void {
    const seen = this.#aggregateSeen(now, deletedAt);
    if (seen) environments.seeAggregate(seen);
  }

  #aggregateSeen(now: number, deletedAt: number): AggregateSeen | undefined {
    const aggregate = this.#aggregate;
    if (!aggregate) return undefined;
    const exposure = Math.max(1, aggregate.last - aggregate.from);
    const arrivals = aggregate.arrivals * 0.5 ** (Math.max(0, deletedAt - aggregate.last) / horizon);
    return {
      count: arrivals + aggregate.known,
      rate: knownHabit(arrivals / exposure + aggregate.knownRate, 0).rate,
      last: Math.max(0, Math.min(aggregate.last, now) - deletedAt),
      known: aggregate.known,
      knownRate: aggregate.knownRate,
      // During preStop they were not counted apart.
      late: Math.min(aggregate.known, deletedAt < this.#heldFrom ? aggregate.arrivals : aggregate.late),
    };
  }

  #aggregateAt(at: number): Aggregate {
    this.#foldedSinceSweep++;
    this.#aggregate ??= {
      from: this.#watchingFrom,
      last: -Infinity,
      arrivals: 0,
      late: 0,
      known: 0,
      knownRate: 0,
    };
    if (at - this.#aggregate.from > horizon) {
      this.#aggregate.from = at - (at - this.#aggregate.from) / 2;
      this.#aggregate.arrivals /= 2;
    }
    return this.#aggregate;
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

/** The chance that this workload's clients rest at times, so that many requests and then none are nothing strange. */
const resting = 0.01;

/** As many visits are due from senders seen never as from senders that came once (Good and Turing): each of those stands for two. */
const asManyNotSeen = 2;

/** Until then a recent gap is chance. */
const fewestRecentGaps = 4;

function judge(name: string, readings: Readings, alike = 1): Judged {
  return { name, ...readings, count: 1, alike };
}

function sameInBoth(seen: Seen): Readings {
  return { seen, atRest: seen };
}
