import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "@lameduck/drain/common";
import type { ConsumerState } from "@lameduck/protocol";
import type { Consumer } from "./consumer.ts";
import { processorTime } from "./processor-time.ts";
import type { Watermark } from "./watermark.ts";

/** A session that waits until the consumer has let go of addresses. */
export interface Subscriber {
  readonly watermark: Watermark;
  /** Its watermark has advanced. */
  advanced(): void;
}

const usualHeartbeatMs = 1_000;
/** Least milliseconds between two polls. */
const leastPause = 250;
/** Most milliseconds between two polls of a consumer that tells when it changes. */
const longestPause = 1_000;
/** Pause after a poll, as a multiple of its cost: polls take a third of a core at most, however many rules there are. */
const pausePerPoll = 2;
/** Cost from which a poll counts as slow. After a slow one nobody waits for a change: its own pause is long enough. */
const slowPoll = 200;

/** Pauses between checks of a consumer that cannot be read, when no pod waits. */
const firstCheckMs = 500;
const longestCheckMs = 60_000;

/** Polls one consumer for all sessions at once, and only while a session waits. */
export class Poller {
  readonly #consumer: Consumer;
  readonly #subscribers = new Set<Subscriber>();
  readonly #onProblem: (problem: string | undefined) => void;
  #problem: string | undefined;
  /**
   * Milliseconds, for the cost of a poll. Programs cost processor time: on a busy node they wait for it, and a pause for that time would only be late.
   * An answer costs as long as it takes, because whoever gives it may be busy.
   */
  readonly #clock: () => number;
  /** When the last complete poll began and ended, its cost, and the addresses that it found used. */
  #whole = { began: -Infinity, at: -Infinity, cost: 0, used: new Set() as ReadonlySet<string> };
  #interrupt: () => void = () => undefined;
  #running: Promise<void> | undefined;
  #checking: Promise<void> | undefined;
  readonly #stopping = new AbortController();

  constructor(consumer: Consumer, onProblem: (problem: string | undefined) => void) {
    this.#consumer = consumer;
    this.#onProblem = onProblem;
    if (consumer.pacesItself === true) this.#clock = () => 0;
    else this.#clock = consumer.runsPrograms === true ? processorTime : () => performance.now();
  }

  /** What is reported of the consumer, besides how far each session is. */
  get known(): Pick<ConsumerState, "kind" | "basis" | "problem" | "reason"> {
    const { kind, basis } = this.#consumer;
    return { kind, basis, problem: this.#problem, reason: this.#consumer.reason?.() };
  }

  /** Between two reports while it has not let go: who waits takes it for silent otherwise. */
  get heartbeatMs(): number {
    return this.#consumer.heartbeatMs ?? usualHeartbeatMs;
  }

  /**
   * Polls once, so that a problem is known before a pod waits; and again while there is one: a sidecar starts before its proxy. Whoever asks for the same
   * meanwhile begins no second round.
   */
  async check(): Promise<void> {
    await this.#look();
    if (this.#problem !== undefined)
      this.#checking ??= this.#checkAgain().finally(() => (this.#checking = undefined));
  }

  async #checkAgain(): Promise<void> {
    const { signal } = this.#stopping;
    for (let pauseMs = firstCheckMs; this.#problem !== undefined && !signal.aborted;) {
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
      // Whoever polls for a pod meanwhile finds the same.
      if (this.#running === undefined && !signal.aborted) await this.#look();
      pauseMs = Math.min(pauseMs * 2, longestCheckMs);
    }
  }

  async #look(): Promise<void> {
    await this.#poll(() => this.#consumer.stillUsed([], this.#stopping.signal));
  }

  subscribe(subscriber: Subscriber): void {
    this.#subscribers.add(subscriber);
  }

  unsubscribe(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber);
  }

  /** Starts polling, because a withdrawal came. */
  wake(): void {
    if (this.#hasNew()) this.#interrupt();
    this.#running ??= this.#run().finally(() => (this.#running = undefined));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#checking;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      if (this.#isDue()) await this.#pass();
      if (![...this.#subscribers].some(({ watermark }) => watermark.isBehind)) break;
      await delay(this.#consumer.every ?? leastPause, undefined, { signal }).catch(() => undefined);
      if (this.#whole.cost < slowPoll) await this.#untilChanged(signal);
    }
    this.#consumer.rest?.();
  }

  /** Another poll has the same answer until something changes, or until a pod is withdrawn that the last one did not find. */
  async #untilChanged(signal: AbortSignal): Promise<void> {
    const news = new AbortController();
    this.#interrupt = () => news.abort();
    if (this.#hasNew()) return;
    const limits = [signal, news.signal, AbortSignal.timeout(longestPause - leastPause)];
    await this.#consumer.changed?.(this.#whole.began, AbortSignal.any(limits));
  }

  #hasNew(): boolean {
    return this.#addresses().some((address) => !this.#whole.used.has(address));
  }

  /** Whether a poll is due: not while it would take too much processor time. */
  #isDue(): boolean {
    const { at, cost } = this.#whole;
    return performance.now() - at >= cost * pausePerPoll;
  }

  #addresses(): string[] {
    const all = [...this.#subscribers].flatMap(({ watermark }) => watermark.pending);
    return [...new Set(all.map(([address]) => address))];
  }

  async #pass(): Promise<void> {
    // Withdrawals that come during a poll belong to the next one.
    const waiting = Array.from(this.#subscribers, (subscriber) => {
      const { watermark } = subscriber;
      return { subscriber, watermark, pending: watermark.pending };
    });
    const addresses = this.#addresses();
    const began = performance.now();
    const before = this.#clock();
    const used = await this.#poll(() => this.#consumer.stillUsed(addresses, this.#stopping.signal));
    const at = performance.now();
    // A child that ends meanwhile adds what it took in all its life.
    const cost = Math.min(this.#clock() - before, at - began);
    this.#whole = { began, at, cost, used: used ?? new Set() };
    if (used === undefined) return;
    for (const { subscriber, watermark, pending } of waiting) {
      const gone = pending.filter(([address]) => !used.has(address));
      for (const [address, number] of gone) watermark.markApplied(number, address);
      if (gone.length > 0) subscriber.advanced();
    }
  }

  async #poll<T>(poll: () => Promise<T>): Promise<T | undefined> {
    try {
      const seen = await poll();
      this.#setProblem(undefined);
      return seen;
    } catch (error) {
      if (!this.#stopping.signal.aborted) this.#setProblem(messageOf(error));
      return undefined;
    }
  }

  #setProblem(problem: string | undefined): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#onProblem(problem);
  }
}
