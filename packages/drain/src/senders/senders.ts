import { Posterior, type ArrivalProcess, type Summary } from "../belief/posterior.ts";
import { LearntHabit, recentGaps } from "../belief/evidence.ts";
import { defaultPrior, type Latest } from "../belief/hypotheses.ts";
import { fewest, Gaps, horizonMs } from "./gaps.ts";
import { Pool } from "./pool.ts";
import { Aggregate, Sender } from "./sender.ts";
import { connectionsOf, withRequests } from "./arrival-process.ts";

/** A sender, or the aggregate, whose arrivals are still expected. */
export interface PendingSender {
  readonly sender: string | undefined;
  /** Requests expected of it within one `convergence` after a stop now. */
  readonly loss: number;
  /** Its mean rate before, per second. */
  readonly perSecond: number;
  /** Milliseconds since its last new connection, or since the deletion. */
  readonly silence: number;
}

interface Judged {
  readonly name: string | undefined;
  readonly process: ArrivalProcess;
}

/**
 * New connections by sender. Those that come often are separate. All others are one aggregate, and their arrivals are its arrivals. So it does not
 * matter how many they are, nor whether one of them comes again.
 */
export class SenderTable {
  readonly #capacity: number;
  readonly #prestop: number;
  readonly #senders = new Map<string, Sender>();
  #aggregate: Aggregate | undefined;
  /** When a newcomer last found no place. */
  #overflowedAt = -Infinity;
  /** The load, which is all arrivals together: their gaps, the last one, and the total length of their pauses. */
  readonly #load = { gaps: new Gaps(), last: -Infinity, paused: 0 };
  #watchingFrom: number;
  #heldFrom = Infinity;
  #gapsBefore = 0;
  /** The senders as the posterior takes them; kept until the next observation. */
  #prepared: readonly Judged[] | undefined;

  constructor(capacity: number, prestop: number, watchingFrom: number) {
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
    let sender = this.#senders.get(name);
    if (sender) {
      sender.arrived(at, this.#load, held);
      if (sender.gaps.count >= (this.#hasOverflowed(at) ? fewestOnceOverflowed : 1)) this.#separate(sender);
      if (sender.isSeparate) return;
    } else {
      // In the hold no sender is given up for a newcomer: the hold waits for it.
      if (this.#isFull && this.#heldFrom === Infinity) this.#makeRoom(at);
      if (!this.#isFull) this.#senders.set(name, (sender = new Sender(at, this.#load.paused)));
    }
    if (sender) sender.shared++;
    if (this.#aggregate) this.#aggregate.arrived(at, this.#load, held);
    else this.#aggregate = new Aggregate(at, this.#load.paused);
  }

  /** A request, since the hold began, on a connection of before that has not been asked to close. */
  request(name: string, at: number): void {
    this.#prepared = undefined;
    const sender = this.#senders.get(name);
    if (!sender) return;
    (sender.pool ??= new Pool()).request(at);
    this.#separate(sender);
  }

  /** A connection that made `requests` of those requests is asked to close. */
  asked(name: string, requests: number, at: number): void {
    this.#prepared = undefined;
    this.#senders.get(name)?.pool?.asked(requests, at);
  }

  /** The posterior at `now`, and what it expects to be lost by a stop then. */
  posterior(now: number, convergence: number, prior: readonly number[]): Summary {
    const posterior = new Posterior(convergence, prior, this.#since(now), this.#latest);
    for (const { process } of this.#judged()) posterior.update(process);
    return posterior.summary();
  }

  /** The senders whose arrivals are still expected if hypotheses have these weights, the largest expected loss first. */
  pendingSenders(now: number, convergence: number, weights: readonly number[]): PendingSender[] {
    const since = this.#since(now);
    const pendingSenders = this.#judged().map(({ name, process }) => {
      const posterior = new Posterior(convergence, defaultPrior(), since, this.#latest);
      posterior.update(process);
      return {
        sender: name,
        loss: posterior.lossUnder(weights),
        perSecond: process.rate * 1_000,
        silence: since - Math.min(process.last, since),
      };
    });
    return pendingSenders.sort((a, b) => b.loss - a.loss);
  }

  /** Time of the deletion, or of the beginning of the watch if that was later: silence that nobody watched proves nothing. */
  get #deletedAt(): number {
    return Math.max(this.#heldFrom - this.#prestop, this.#watchingFrom);
  }

  #since(now: number): number {
    return Math.max(0, now - this.#deletedAt);
  }

  /** 0 where there is one sender alone, which may have been about to go on, and where too few gaps were seen before the hold to know lulls. */
  get #latest(): Latest {
    const { last, gaps } = this.#load;
    const unknown = this.#judged().length === 1 || this.#gapsBefore < fewestGapsBefore;
    return { at: unknown ? 0 : this.#since(last), rate: gaps.habit().rate };
  }

  #noteLoad(at: number, held: boolean): void {
    const load = this.#load;
    const gap = at - load.last;
    if (load.last > -Infinity && load.gaps.add(Math.max(0, gap), held, fewest.ofAll)) load.paused += gap;
    load.last = Math.max(load.last, at);
  }

  /** Prepared once between two observations, for however many moments it is asked. */
  #judged(): readonly Judged[] {
    return (this.#prepared ??= [...this.#prepare(this.#deletedAt)]);
  }

  *#prepare(deletedAt: number): Generator<Judged> {
    for (const [name, sender] of this.#senders) {
      const process = sender.isSeparate ? this.#processOf(sender, deletedAt) : undefined;
      if (process) yield { name, process };
    }
    const aggregate = this.#aggregate && this.#processOf(this.#aggregate, deletedAt);
    if (aggregate) yield { name: this.#onlyOne, process: aggregate };
  }

  get #onlyOne(): string | undefined {
    if (this.#aggregate?.counter !== 1) return undefined;
    return [...this.#senders].find(([, { shared }]) => shared > 0)?.[0];
  }

  #processOf(sender: Sender, deletedAt: number): ArrivalProcess | undefined {
    // Silence before the deletion proves nothing about routing: it is part of the sender's habit.
    const last = Math.max(0, sender.last - deletedAt);
    const idleBefore = Math.max(0, deletedAt - sender.last);
    const { gaps, pool } = sender;
    const left = sender.hasLeft(idleBefore);
    if (left && gaps.areOfLongStanding) return undefined;
    const cameOnce = left || gaps.count === 0;
    const usual = cameOnce
      ? new LearntHabit(1, idleBefore + Math.max(1, sender.last - this.#watchingFrom), 0)
      : gaps.habit(idleBefore);
    const returning = pool?.returning;
    const habit = returning?.habit() ?? usual;
    // An address that several senders share goes on at a lower rate when some of them have let go.
    const { count, recent } = returning ?? gaps;
    const slowed = count >= fewestRecentGaps && last > 0 && recent * habit.rate > 1;
    const worth = sender === this.#aggregate ? recentGaps.ofAggregate : recentGaps.ofOne;
    const connections = connectionsOf(habit, last, slowed ? { meanGap: recent, worth } : undefined);
    const requests = pool?.habit;
    return pool && requests ? withRequests(connections, requests, pool.last - deletedAt - last) : connections;
  }

  get #isFull(): boolean {
    return this.#senders.size >= this.#capacity;
  }

  #separate(sender: Sender): void {
    sender.isSeparate = true;
    if (this.#aggregate?.without(sender.shared)) this.#aggregate = undefined;
    sender.shared = 0;
  }

  #hasOverflowed(at: number): boolean {
    return at - this.#overflowedAt <= horizonMs;
  }

  /**
   * Senders that have long been silent are dropped. If there are none, the table overflows. Each sender then has a counter: its number of
   * arrivals. A newcomer that finds no place takes 1 from each counter (Misra and Gries 1982). So a sender that makes more than one of
   * `capacity` arrivals keeps its place, however many senders come once.
   */
  #makeRoom(at: number): void {
    this.#drop(({ last }) => at - last > horizonMs);
    if (!this.#isFull) return;
    const isNew = !this.#hasOverflowed(at);
    this.#overflowedAt = at;
    this.#drop((sender) => {
      if (isNew && sender.gaps.count < fewestOnceOverflowed) sender.isSeparate = false;
      return --sender.counter <= 0;
    });
  }

  #drop(isToGo: (sender: Sender) => boolean): void {
    for (const [name, sender] of this.#senders) if (isToGo(sender)) this.#senders.delete(name);
  }
}

/**
 * A sender needs this many gaps to be separate while the table overflows. A sender that came twice by chance would seem to come more often
 * than it does.
 */
const fewestOnceOverflowed = 24;

/** This many gaps of all senders together show how long their lulls are. */
const fewestGapsBefore = 50;

/** A mean of fewer recent gaps is chance. */
const fewestRecentGaps = 4;
