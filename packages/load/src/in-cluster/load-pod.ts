import type { RunClock, RequestRecord } from "@lameduck/accounting";
import { withoutUndefined } from "@lameduck/drain/common";
import { lateBy } from "../generator/records.ts";
import type { Kube } from "./options.ts";
import { PodLog } from "./pod-log.ts";
import type { PodMessage } from "./transport/line.ts";
import { unpack, type Numbered } from "./transport/pack.ts";

interface LoadPodOptions {
  readonly kube: Kube;
  readonly name: string;
  /** Path of its object. */
  readonly path: string;
  readonly clock: RunClock;
  /** The time 0 (1970) on the run's clock: taken once, because each reading of two clocks adds its jitter. */
  readonly epoch: number;
  /** What senders are called, by route. */
  readonly routes: readonly string[];
  /** When the Job was sent, on the run's clock. */
  readonly asked: number;
}

/** One pod of the load: what it said, and its requests on the run's clock. */
export class LoadPod {
  readonly name: string;
  readonly log: PodLog;
  readonly bounds = new ClockBounds();
  readonly begun: Promise<void>;
  hello: (PodMessage & { type: "hello" }) | undefined;
  progress: (PodMessage & { type: "progress" }) | undefined;
  end: (PodMessage & { type: "end" }) | undefined;
  failed: (PodMessage & { type: "failed" }) | undefined;
  /** When it was ended from outside, milliseconds since 1970 by its own clock. */
  endedEarly: number | undefined;
  readonly #options: LoadPodOptions;
  readonly #records: Map<number, Numbered["record"]>[];
  readonly #begun = Promise.withResolvers<void>();
  #endAsked: number | undefined;
  /** Requests that came twice under the same number: never, unless the transport is broken. */
  doubled = 0;

  constructor(options: LoadPodOptions) {
    this.#options = options;
    this.name = options.name;
    this.begun = this.#begun.promise;
    this.#records = options.routes.map(() => new Map());
    this.log = new PodLog(options.kube, options.path, (message) => this.#take(message));
  }

  /** It is being asked to end: SIGTERM comes after this. */
  endAsked(): void {
    this.#endAsked ??= this.#options.clock.now();
  }

  /** Requests that it made, or was to make, and that have no record. */
  get missing(): number {
    const due = this.end ? this.end.due.reduce((sum, one) => sum + one, 0) : (this.progress?.due ?? 0);
    return Math.max(0, due - this.#records.reduce((sum, { size }) => sum + size, 0));
  }

  /** @param connections number to add to its own numbers of connections @param from first id */
  records(connections: number, from: number): RequestRecord[] {
    const shift = (this.hello?.epoch ?? 0) + this.bounds.correction + this.#options.epoch;
    const moved = (at: number | undefined): number | undefined => (at === undefined ? undefined : at + shift);
    let id = from;
    return this.#records.flatMap((records, route) =>
      [...records.values()].map((record) =>
        withoutUndefined({
          ...record,
          fired: undefined,
          late: record.late ? lateBy(record.intended, record.fired) : undefined,
          id: id++,
          intended: record.intended + shift,
          sent: moved(record.sent),
          finished: moved(record.finished),
          connected: moved(record.connected),
          sender: this.#options.routes[route] ?? "",
          connection: record.connection && record.connection + connections,
          endedBySender: record.endedBySender || undefined,
        }),
      ),
    );
  }

  /** How late the generator itself was, milliseconds, for each request it sent. */
  lateness(): number[] {
    return this.#records.flatMap((records) =>
      [...records.values()].flatMap(({ fired, intended }) => (fired === undefined ? [] : [fired - intended])),
    );
  }

  #take(message: PodMessage): void {
    const { clock, epoch, asked } = this.#options;
    const arrived = clock.now() - epoch;
    this.bounds.before(arrived, message.at);
    switch (message.type) {
      case "hello":
        this.hello = message;
        this.bounds.after(asked - epoch, message.at);
        break;
      case "begun":
        this.#begun.resolve();
        break;
      case "progress":
        this.progress = message;
        break;
      case "records":
        this.#keep(message.route, unpack(message.packed));
        break;
      case "stopping":
        // Before our own request it came from outside: an eviction, a drained node.
        if (this.#endAsked === undefined) this.endedEarly = message.at;
        else this.bounds.after(this.#endAsked - epoch, message.at);
        break;
      case "end":
        this.end = message;
        break;
      case "failed":
        this.failed = message;
        break;
    }
  }

  #keep(route: number, numbered: readonly Numbered[]): void {
    const records = this.#records[route];
    for (const { row, record } of numbered) {
      if (records?.has(row)) this.doubled++;
      else records?.set(row, record);
    }
  }
}

/** Wall clocks are read in whole milliseconds. */
const resolutionMs = 1;

/**
 * How far a pod's clock is from ours, from what must have been before what. A line cannot arrive before it was written. A pod cannot start before its
 * Job was sent. SIGTERM cannot come before it was asked for. Together these are the two halves of an NTP exchange, at the precision of the way
 * through API server and kubelet (some 10 ms a line, some 100 ms a signal).
 */
export class ClockBounds {
  #low = -Infinity;
  #high = Infinity;

  /** Something that the pod timed came after something that we timed. */
  after(ours: number, theirs: number): void {
    this.#low = Math.max(this.#low, ours - theirs - resolutionMs);
  }

  /** Something that the pod timed came before something that we timed. */
  before(ours: number, theirs: number): void {
    this.#high = Math.min(this.#high, ours - theirs + resolutionMs);
  }

  /**
   * Milliseconds to add to the pod's times. Nothing is added as long as equal clocks explain everything: nodes keep time by NTP, far closer than the
   * bounds. Else it is as little as explains it.
   */
  get correction(): number {
    if (this.#low > this.#high) return this.#high;
    return Math.min(Math.max(0, this.#low), this.#high);
  }

  /** How far the true difference may be from the correction, milliseconds; Infinity where one side is not bounded. */
  get uncertainty(): number {
    const { correction } = this;
    return Math.max(this.#high - correction, correction - this.#low, 0);
  }
}
