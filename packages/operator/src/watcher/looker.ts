import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "@lameduck/drain/common";
import type { Consumer } from "./consumers/consumer.ts";
import type { Watermark } from "./watermark.ts";

/** Who wants to know what a consumer has let go of. */
export interface Asker {
  readonly watermark: Watermark;
  /** Its watermark has advanced. */
  advanced(): void;
}

/** Milliseconds between two looks, at least. */
const leastPause = 250;
/** Looks shall not take more than a third of a core, however many rules there are. */
const pausePerLook = 2;
/** Milliseconds from which a look is so slow that it is asked first whether anything has changed, and for how long that is believed. */
const slow = 200;
const believed = 30_000;

/** Looks at one consumer, for all coordinators at once, while somebody waits for it, and not otherwise. */
export class Looker {
  readonly consumer: Consumer;
  readonly #askers = new Set<Asker>();
  readonly #onProblem: (problem: string | undefined) => void;
  #problem: string | undefined;
  /** When the last look that told everything ended, and how long it took. */
  #whole = { at: -Infinity, took: 0 };
  #running: Promise<void> | undefined;
  readonly #stopping = new AbortController();

  constructor(consumer: Consumer, onProblem: (problem: string | undefined) => void) {
    this.consumer = consumer;
    this.#onProblem = onProblem;
  }

  /** Why nothing can be reported, if so. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** One look that nobody waits for, so that what is wrong is known before it matters. */
  async try(): Promise<void> {
    await this.#look(() => this.consumer.stillUsed([], this.#stopping.signal));
  }

  join(asker: Asker): void {
    this.#askers.add(asker);
  }

  leave(asker: Asker): void {
    this.#askers.delete(asker);
  }

  /** Somebody has heard of a withdrawal. */
  wake(): void {
    this.#running ??= this.#run().finally(() => (this.#running = undefined));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      if (await this.#isDue()) await this.#pass();
      if (![...this.#askers].some(({ watermark }) => watermark.isBehind)) return;
      await delay(this.consumer.every ?? leastPause, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Whether everything should be looked at: not while that would take too much of the machine, nor while nothing has changed. */
  async #isDue(): Promise<boolean> {
    const { at, took } = this.#whole;
    const since = performance.now() - at;
    if (since < took * pausePerLook) return false;
    if (took < slow || since > believed || this.consumer.surelyUsed === undefined) return true;
    const addresses = this.#addresses();
    const sure = await this.consumer.surelyUsed(addresses, this.#stopping.signal).catch(() => undefined);
    return sure === undefined || addresses.some((address) => !sure.has(address));
  }

  #addresses(): string[] {
    const all = [...this.#askers].flatMap(({ watermark }) => watermark.pending);
    return [...new Set(all.map(([address]) => address))];
  }

  async #pass(): Promise<void> {
    // What is heard of during a look is for the next one.
    const waiting = Array.from(this.#askers, (asker) => {
      const { watermark } = asker;
      return { asker, watermark, pending: watermark.pending };
    });
    const addresses = this.#addresses();
    const began = performance.now();
    const used = await this.#look(() => this.consumer.stillUsed(addresses, this.#stopping.signal));
    this.#whole = { at: performance.now(), took: performance.now() - began };
    if (used === undefined) return;
    for (const { asker, watermark, pending } of waiting) {
      const gone = pending.filter(([address]) => !used.has(address));
      for (const [address, number] of gone) watermark.letGo(number, address);
      if (gone.length > 0) asker.advanced();
    }
  }

  async #look<T>(look: () => Promise<T>): Promise<T | undefined> {
    try {
      const seen = await look();
      this.#say(undefined);
      return seen;
    } catch (error) {
      if (!this.#stopping.signal.aborted) this.#say(messageOf(error));
      return undefined;
    }
  }

  #say(problem: string | undefined): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#onProblem(problem);
  }
}
