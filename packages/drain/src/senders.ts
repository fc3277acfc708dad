import { Environments, type Seen, type Verdict } from "./environments.ts";
import { knownHabit, learntHabit, recentSurprise } from "./evidence.ts";

/** Habits older than this fade: traffic of last night says little about this minute. */
const horizon = 120_000;

interface Sender {
  last: number;
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

/** New connections by sender, in bounded memory. One arrival costs O(1), a verdict O(senders). */
export class SenderTable {
  readonly #capacity: number;
  readonly #senders = new Map<string, Sender>();
  #crowd: Crowd | undefined;
  #foldedSinceSweep = 0;
  #watchingFrom: number;
  #heldFrom = Infinity;

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

  heldFrom(at: number): void {
    this.#heldFrom = at;
  }

  arrival(name: string, at: number): void {
    const sender = this.#senders.get(name);
    if (sender) meet(sender, at);
    else if (this.#hasRoom(at)) this.#senders.set(name, newSender(at));
    else {
      const crowd = this.#crowdAt(at);
      crowd.arrivals++;
      if (at >= this.#heldFrom) crowd.late++;
      crowd.last = Math.max(crowd.last, at);
    }
  }

  /**
   * A request on a connection that is asked to close says nothing of routing by itself. But its sender, if it has not converged, comes back
   * with a new connection: from now on its silence counts at this rate as well.
   */
  asked(name: string, at: number): void {
    const sender = this.#senders.get(name);
    if (!sender) return;
    const { asked } = sender;
    if (!asked) sender.asked = { last: at, gaps: 0, exposure: 0, longestGap: 0 };
    else {
      const gap = Math.max(0, at - asked.last);
      asked.gaps++;
      asked.exposure += gap;
      asked.longestGap = Math.max(asked.longestGap, gap);
      asked.last = Math.max(asked.last, at);
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

  /** What is to be expected if the pod, deleted at `deleted`, stopped at `now`, given what was believed of environments before. */
  weigh(now: number, deleted: number, convergence: number, prior: readonly number[]): Verdict {
    // A silence that nobody watched is none.
    const deletedAt = Math.max(deleted, this.#watchingFrom);
    const environments = new Environments(convergence, prior, Math.max(0, now - deletedAt));
    for (const sender of this.#senders.values()) {
      const seen = this.#seen(sender, now, deletedAt);
      // Seen once: as many arrivals are due from senders seen never as from senders seen once (Good and Turing), hence twice.
      if (seen) environments.see(seen, sender.rate === undefined && sender.gaps === 0 ? 2 : 1);
    }
    this.#addCrowd(environments, now, deletedAt);
    return environments.verdict();
  }

  #seen(sender: Sender, now: number, deletedAt: number): Seen | undefined {
    // Silence before the deletion proves nothing about routing: it is part of the sender's habit.
    const last = Math.max(0, Math.min(sender.last, now) - deletedAt);
    const told = sender.rate;
    if (told !== undefined) {
      const { rate } = knownHabit(told, 0);
      return { rate, rateNow: rate, last, surprise: (silence) => rate * silence };
    }
    const idleBefore = Math.max(0, deletedAt - sender.last);
    const longest = Math.max(sender.longestGap, sender.previousLongestGap);
    if (
      sender.gaps > 0 &&
      learntHabit(sender.gaps, sender.exposure, longest, idleBefore).surprise > goneSurprise
    )
      return undefined;
    const gaps = Math.max(1, sender.gaps);
    const exposure =
      idleBefore + (sender.gaps > 0 ? sender.exposure : Math.max(1, sender.last - this.#watchingFrom));
    const silence = Math.max(0, now - Math.max(sender.last, deletedAt));
    const { rate } = learntHabit(gaps, exposure, longest, 0);
    const { rateNow } = learntHabit(gaps, exposure, longest, silence);
    // An address that several senders share goes on at a lower rate when some of them have let go.
    const slowed = sender.gaps >= fewestRecentGaps && last > 0 && sender.recentGap * rate > 1;
    const surprise = (quiet: number): number => {
      const habitual = learntHabit(gaps, exposure, longest, quiet).surprise;
      return slowed ? Math.min(habitual, recentSurprise(sender.recentGap, quiet)) : habitual;
    };
    return withAsked({ rate, rateNow, last, surprise }, sender.asked, now, deletedAt);
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

/** Until then a recent gap is chance. */
const fewestRecentGaps = 4;

/** Weight of the latest gap in the mean of recent ones: some 15 of them count. */
const recency = 1 / 8;

function newSender(at: number): Sender {
  return {
    last: at,
    gaps: 0,
    exposure: 0,
    longestGap: 0,
    previousLongestGap: 0,
    recentGap: 0,
    rate: undefined,
    asked: undefined,
  };
}

/**
 * An ingress comes back to this pod with every request meant for it, but behind a balancer of connections a client comes back to any of
 * the pods, here to one in as many as there are. Which of the two a sender is cannot be seen, so that one in ten is counted.
 */
const comeBackHere = 0.1;

/** Requests that would come back make a second stream of arrivals beside the new connections, silent since its own last one. */
function withAsked(seen: Seen, asked: Asked | undefined, now: number, deletedAt: number): Seen {
  if (!asked || asked.gaps === 0) return seen;
  const { gaps, exposure, longestGap } = asked;
  const silentFrom = Math.max(0, asked.last - deletedAt - seen.last);
  const { rateNow } = learntHabit(gaps, exposure, longestGap, Math.max(0, now - asked.last));
  return {
    ...seen,
    rateNow: seen.rateNow + rateNow,
    surprise: (quiet) =>
      seen.surprise(quiet) +
      comeBackHere * learntHabit(gaps, exposure, longestGap, Math.max(0, quiet - silentFrom)).surprise,
  };
}

function meet(sender: Sender, at: number): void {
  if (Number.isFinite(sender.last)) {
    const gap = Math.max(0, at - sender.last);
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
  sender.last = Math.max(sender.last, at);
}
