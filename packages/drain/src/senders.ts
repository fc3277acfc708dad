import { Environments, type Seen, type Verdict } from "./environments.ts";
import { knownHabit, LearntHabit } from "./evidence.ts";
import { AskedSender, LearntSender, ToldSender } from "./seen.ts";

/** Habits older than this fade: traffic of last night says little about this minute. */
const horizon = 120_000;

interface Sender {
  last: number;
  /** The same by the clock that goes on while nothing can be seen. */
  lastAt: number;
  /** Gaps between arrivals, and their sum; halved together at the horizon. */
  gaps: number;
  exposure: number;
  longestGap: number;
  previousLongestGap: number;
  /** Mean of the latest gaps, the latest counting most. */
  recentGap: number;
  /** Per millisecond, where told. */
  rate: number | undefined;
  /** Requests that would come back on new connections, since the hold began. */
  asked: Asked | undefined;
}

interface Asked {
  last: number;
  lastAt: number;
  gaps: number;
  exposure: number;
  longestGap: number;
}

/** Senders beyond the table's size, counted together. Each arrival counts as a sender of its own: the cautious reading. */
interface Crowd {
  from: number;
  last: number;
  arrivals: number;
  /** Of them, since the hold began. */
  late: number;
  told: number;
  toldRate: number;
}

/** Senders of which the same was seen, and how many each of them stands for. */
interface Judged {
  readonly seen: Seen;
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
  #crowd: Crowd | undefined;
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
      const crowd = this.#crowdAt(seen);
      crowd.arrivals++;
      if (seen >= this.#heldFrom) crowd.late++;
      crowd.last = Math.max(crowd.last, seen);
    }
  }

  /**
   * A request on a connection that is asked to close says nothing of routing by itself. But its sender, if it has not converged, comes back
   * with a new connection: from now on its silence counts at this rate as well.
   */
  asked(name: string, seen: number, at: number): void {
    this.#prepared = undefined;
    const sender = this.#senders.get(name);
    if (!sender) return;
    const { asked } = sender;
    if (!asked) sender.asked = { last: seen, lastAt: at, gaps: 0, exposure: 0, longestGap: 0 };
    else {
      const gap = Math.max(0, at - asked.lastAt);
      asked.gaps++;
      asked.exposure += gap;
      asked.longestGap = Math.max(asked.longestGap, gap);
      asked.last = Math.max(asked.last, seen);
      asked.lastAt = Math.max(asked.lastAt, at);
    }
  }

  rate(name: string, perMillisecond: number, at: number): void {
    this.#prepared = undefined;
    const sender = this.#senders.get(name);
    if (sender) sender.rate = perMillisecond;
    else if (this.#hasRoom(at))
      this.#senders.set(name, { ...newSender(-Infinity, -Infinity), rate: perMillisecond });
    else {
      const crowd = this.#crowdAt(at);
      crowd.told++;
      crowd.toldRate += perMillisecond;
    }
  }

  /** What is to be expected if the pod, deleted at `deleted`, stopped at `now`, given what was believed of environments before. */
  weigh(now: number, deleted: number, convergence: number, prior: readonly number[]): Verdict {
    // A silence that nobody watched is none.
    const deletedAt = Math.max(deleted, this.#watchingFrom);
    const environments = new Environments(convergence, prior, Math.max(0, now - deletedAt));
    for (const { seen, count, alike } of this.#judged(deletedAt)) environments.see(seen, count, alike);
    this.#addCrowd(environments, now, deletedAt);
    return environments.verdict();
  }

  /** Asked for many moments between two observations, senders are prepared once. */
  #judged(deletedAt: number): readonly Judged[] {
    if (this.#prepared?.deletedAt !== deletedAt)
      this.#prepared = { deletedAt, senders: [...this.#prepare(deletedAt)] };
    return this.#prepared.senders;
  }

  *#prepare(deletedAt: number): Generator<Judged> {
    let seenOnce = 0;
    for (const sender of this.#senders.values()) {
      // Of those seen once, and not since the deletion, nothing else is known: they are all alike.
      const once = sender.rate === undefined && sender.gaps === 0;
      if (once && !sender.asked && sender.last <= deletedAt && sender.last >= this.#watchingFrom + 1) {
        seenOnce++;
        continue;
      }
      const seen = this.#seen(sender, deletedAt);
      if (seen) yield { seen, count: 1, alike: once ? asManyNotSeen : 1 };
    }
    if (seenOnce === 0) return;
    const habit = new LearntHabit(1, deletedAt - this.#watchingFrom, 0);
    yield { seen: new LearntSender(habit, 0, undefined), count: seenOnce, alike: asManyNotSeen };
  }

  #seen(sender: Sender, deletedAt: number): Seen | undefined {
    // Silence before the deletion proves nothing about routing: it is part of the sender's habit.
    const last = Math.max(0, sender.last - deletedAt);
    if (sender.rate !== undefined) return new ToldSender(sender.rate, last);
    const idleBefore = Math.max(0, deletedAt - sender.last);
    const { gaps, asked, recentGap } = sender;
    const longest = Math.max(sender.longestGap, sender.previousLongestGap);
    if (gaps > 0 && new LearntHabit(gaps, sender.exposure, longest).surprise(idleBefore) > goneSurprise)
      return undefined;
    const exposure = gaps > 0 ? sender.exposure : Math.max(1, sender.last - this.#watchingFrom);
    const habit = new LearntHabit(Math.max(1, gaps), idleBefore + exposure, longest);
    // An address that several senders share goes on at a lower rate when some of them have let go.
    const slowed = gaps >= fewestRecentGaps && last > 0 && recentGap * habit.rate > 1;
    const seen = new LearntSender(habit, last, slowed ? recentGap : undefined);
    if (!asked || asked.gaps === 0) return seen;
    const requests = new LearntHabit(asked.gaps, asked.exposure, asked.longestGap);
    return new AskedSender(seen, requests, asked.last - deletedAt - last);
  }

  #addCrowd(environments: Environments, now: number, deletedAt: number): void {
    const crowd = this.#crowd;
    if (!crowd) return;
    const exposure = Math.max(1, crowd.last - crowd.from);
    const arrivals = crowd.arrivals * 0.5 ** (Math.max(0, deletedAt - crowd.last) / horizon);
    environments.seeCrowd({
      count: arrivals + crowd.told,
      rate: knownHabit(arrivals / exposure + crowd.toldRate, 0).rate,
      last: Math.max(0, Math.min(crowd.last, now) - deletedAt),
      told: crowd.told,
      toldRate: crowd.toldRate,
      // During preStop they were not counted apart.
      late: Math.min(crowd.told, deletedAt < this.#heldFrom ? crowd.arrivals : crowd.late),
    });
  }

  #crowdAt(at: number): Crowd {
    this.#foldedSinceSweep++;
    this.#crowd ??= { from: this.#watchingFrom, last: -Infinity, arrivals: 0, late: 0, told: 0, toldRate: 0 };
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

/** As many arrivals are due from senders seen never as from senders seen once (Good and Turing): each of those stands for two. */
const asManyNotSeen = 2;

/** Until then a recent gap is chance. */
const fewestRecentGaps = 4;

/** Weight of the latest gap in the mean of recent ones: some 15 of them count. */
const recency = 1 / 8;

function newSender(seen: number, at: number): Sender {
  return {
    last: seen,
    lastAt: at,
    gaps: 0,
    exposure: 0,
    longestGap: 0,
    previousLongestGap: 0,
    recentGap: 0,
    rate: undefined,
    asked: undefined,
  };
}

function meet(sender: Sender, seen: number, at: number): void {
  if (Number.isFinite(sender.lastAt)) {
    const gap = Math.max(0, at - sender.lastAt);
    sender.gaps++;
    sender.exposure += gap;
    sender.longestGap = Math.max(sender.longestGap, gap);
    sender.recentGap = sender.gaps === 1 ? gap : sender.recentGap + recency * (gap - sender.recentGap);
    if (sender.exposure > horizon) {
      sender.gaps /= 2;
      sender.exposure /= 2;
      sender.previousLongestGap = sender.longestGap;
      sender.longestGap = 0;
    }
  }
  sender.last = Math.max(sender.last, seen);
  sender.lastAt = Math.max(sender.lastAt, at);
}
