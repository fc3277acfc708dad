import type { SessionEnd } from "../protocols/connection.ts";
import { Exchange } from "../protocols/exchange.ts";
import type { LoadPlan } from "../plan.ts";
import type { PodNews, Progress } from "./protocol.ts";
import type { RecordTable } from "./records.ts";
import { Schedule } from "./schedule.ts";
import type { LoadSender } from "../senders/sender.ts";
import { Trials, type Trial } from "./trials.ts";
import { StatusClasses } from "@lameduck/accounting/recording";

/** How often deadlines are looked at: a time-out is that much late at most. */
const deadlineStepMs = 10;

/** Lateness that is the timer's or one busy moment's. A longer pause of the event loop is a stall. */
const toleratedMs = 100;
/** After a stall: until what has come meanwhile is read, of the senders' news and of connections that have ended. */
const catchingUpMs = 50;

/**
 * Requests fired before the event loop turns again: after a stall of the machine answers are read between the ones that are overdue. Fired
 * all at once they would each find the pools empty and open a connection, whose cost is the next stall (10,000/s never recovered).
 */
const burst = 32;

/** Starts each request at its scheduled time, whatever the outcome of earlier ones, and follows it to its end. */
export class LoadEngine {
  readonly #plan: LoadPlan;
  readonly #senders: readonly LoadSender[];
  readonly #table: RecordTable;
  readonly #now: () => number;
  readonly #schedule: Schedule;
  readonly #connecting: Deadlines;
  readonly #answering: Deadlines;
  readonly #classes: readonly (StatusClasses | undefined)[];
  readonly #trials: Trials;
  #start = 0;
  #timer: NodeJS.Timeout | undefined;
  #immediate: NodeJS.Immediate | undefined;
  #deadlineTimer: NodeJS.Timeout | undefined;
  #due = 0;
  #finished = 0;
  #lost = 0;
  #notSent = 0;
  #byPod = new Map<string, { answered: number; lost: number }>();
  #drained: (() => void) | undefined;
  #turned = Infinity;
  #upToDateFrom = 0;

  constructor(options: {
    plan: LoadPlan;
    senders: readonly LoadSender[];
    table: RecordTable;
    seed: number;
    now: () => number;
  }) {
    this.#plan = options.plan;
    this.#senders = options.senders;
    this.#table = options.table;
    this.#now = options.now;
    this.#trials = new Trials(options.plan.meantStatuses);
    this.#schedule = new Schedule(options.plan, options.senders.length, options.seed);
    this.#connecting = new Deadlines(options.plan.connectTimeout);
    this.#answering = new Deadlines(options.plan.timeout);
    this.#classes = options.senders.map(() =>
      options.plan.learn > 0 ? new StatusClasses(options.plan.learned) : undefined,
    );
  }

  get progress(): Progress {
    return {
      due: this.#due,
      finished: this.#finished,
      lost: this.#lost,
      notSent: this.#notSent,
      inFlight: this.#due - this.#finished,
    };
  }

  /** What has been added since the last call. */
  takeByPod(): PodNews {
    const news = this.#byPod;
    this.#byPod = new Map();
    return news;
  }

  get trials(): readonly Trial[] {
    return this.#trials.all;
  }

  /** @returns when the schedule's time began. */
  begin(): number {
    this.#start = this.#now();
    this.#turned = this.#start;
    this.#deadlineTimer = setInterval(() => this.#expire(), deadlineStepMs);
    this.#fire();
    return this.#start;
  }

  /**
   * No more requests; resolves when every one has ended, at the latest with the last time-out. `abandon` waits for none: those under way
   * have no record.
   */
  async stop(abandon = false): Promise<void> {
    clearTimeout(this.#timer);
    clearImmediate(this.#immediate);
    this.#abandonLate();
    if (!abandon) this.#fireDue(Infinity);
    if (this.#finished < this.#due && !abandon)
      await new Promise<void>((resolve) => {
        this.#drained = resolve;
      });
    clearInterval(this.#deadlineTimer);
  }

  readonly #fire = (): void => {
    this.#fireDue(burst);
    const wait = this.#start + this.#schedule.due - this.#now();
    if (wait > 0) this.#timer = wait === Infinity ? undefined : setTimeout(this.#fire, wait);
    else this.#immediate = setImmediate(this.#fire);
  };

  #fireDue(most: number): void {
    const now = this.#now();
    this.#noteTurn(now);
    for (let sent = 0; sent < most && this.#start + this.#schedule.due <= now; sent++) this.#send(now);
  }

  #send(fired: number): void {
    const exchange = this.#take(fired);
    this.#connecting.add(exchange, fired);
    this.#answering.add(exchange, fired);
    this.#senders[exchange.record.sender]?.send(exchange);
  }

  /** The event loop turns at least with every look at deadlines. */
  #noteTurn(now: number): void {
    if (now - this.#turned > toleratedMs) this.#upToDateFrom = now + catchingUpMs;
    this.#turned = now;
  }

  #take(fired: number): Exchange {
    const slot = this.#schedule.take();
    this.#due++;
    this.#trials.due(slot);
    return new Exchange({
      row: this.#table.begin(),
      intended: this.#start + slot.at,
      fired,
      late: fired < this.#upToDateFrom || fired - (this.#start + slot.at) > toleratedMs,
      mode: slot.mode,
      kind: slot.kind,
      sender: slot.sender,
      path: this.#plan.paths[slot.kind],
      expectation: this.#plan.expect[slot.kind],
      meant: this.#plan.meantStatuses,
      classes: this.#classes[slot.sender],
      isBaseline: slot.at < this.#plan.learn,
      done: this.#done,
    });
  }

  /** A lasting connection has ended by itself: that is a record of its own, as of a request made then. */
  note(sender: number, end: SessionEnd): void {
    const exchange = new Exchange({
      row: this.#table.begin(),
      intended: end.at,
      fired: undefined,
      mode: "pooled",
      kind: "session",
      sender,
      path: this.#plan.paths.quick,
      expectation: undefined,
      meant: [],
      done: this.#done,
    });
    this.#due++;
    const { at, outcome, error, ...carried } = end;
    Object.assign(exchange.record, carried, { sent: carried.connected });
    exchange.finish({ at, outcome, error });
  }

  readonly #done = (exchange: Exchange): void => {
    const { record } = exchange;
    this.#table.write(exchange.row, record);
    this.#finished++;
    this.#trials.end(record);
    if (record.outcome === "not-sent") this.#notSent++;
    else {
      const isLost = record.outcome !== "ok";
      if (isLost) this.#lost++;
      this.#count(record.pod ?? "", isLost);
    }
    if (this.#finished === this.#due) this.#drained?.();
  };

  #count(pod: string, isLost: boolean): void {
    let count = this.#byPod.get(pod);
    if (!count) this.#byPod.set(pod, (count = { answered: 0, lost: 0 }));
    if (isLost) count.lost++;
    else count.answered++;
  }

  /** What was due long before the load was stopped is not sent any more: the generator's own lateness, counted, not forgotten. */
  #abandonLate(): void {
    const now = this.#now();
    while (this.#start + this.#schedule.due <= now - toleratedMs) {
      const exchange = this.#take(now);
      exchange.record.fired = undefined;
      exchange.fail({ outcome: "not-sent", error: "LATE" }, now);
    }
  }

  #expire(): void {
    const now = this.#now();
    this.#noteTurn(now);
    // What was answered during a stall is still to be read.
    if (now < this.#upToDateFrom) return;
    this.#connecting.expire(now, (exchange) => exchange.record.sent === undefined);
    this.#answering.expire(now, () => true);
  }
}

/** Requests in the order of their deadlines, which is the order they were fired in because all have the same time. */
class Deadlines {
  readonly #time: number;
  #queue: { readonly exchange: Exchange; readonly at: number }[] = [];
  #head = 0;

  constructor(time: number) {
    this.#time = time;
  }

  add(exchange: Exchange, from: number): void {
    this.#queue.push({ exchange, at: from + this.#time });
  }

  expire(now: number, applies: (exchange: Exchange) => boolean): void {
    for (let first = this.#queue[this.#head]; first; first = this.#queue[++this.#head]) {
      if (!first.exchange.ended) {
        if (first.at > now) break;
        if (applies(first.exchange)) first.exchange.giveUp();
      }
    }
    if (this.#head > 10_000) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
  }
}
