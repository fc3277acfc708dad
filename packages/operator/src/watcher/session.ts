import { setTimeout as delay } from "node:timers/promises";
import type { CoordinatorClient } from "./coordinator-client.ts";
import type { Asker, Looker } from "./looker.ts";
import type { Report, Told } from "./report.ts";
import { Watermark } from "./watermark.ts";

/** Milliseconds that a request waits for news while all is applied, and the heartbeat while something is not. */
const idleWait = 30_000;
const heartbeat = 1_000;
/** Milliseconds after a failure, at first and at most. */
const firstPause = 250;
const longestPause = 5_000;

export interface SessionOptions {
  readonly client: CoordinatorClient;
  readonly looker: Looker;
  readonly node: string | undefined;
  readonly serves?: readonly string[];
  readonly onFailure: (error: unknown) => void;
}

/** What one consumer tells one replica of the coordinator, and hears from it. */
export class Session implements Asker {
  #watermark = new Watermark();
  #epoch: string | null = null;
  #failures = 0;
  #posting = false;
  #postAgain = false;
  readonly #options: SessionOptions;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;

  constructor(options: SessionOptions) {
    this.#options = options;
    options.looker.join(this);
    this.#running = this.#run();
  }

  get watermark(): Watermark {
    return this.#watermark;
  }

  /** Requests that failed since the last that did not. */
  get failures(): number {
    return this.#failures;
  }

  async stop(): Promise<void> {
    this.#options.looker.leave(this);
    this.#stopping.abort();
    await this.#running;
    this.#options.client.close();
  }

  /** Tells it at once: the request that is parked carries what was true before. */
  advanced(): void {
    if (this.#posting) this.#postAgain = true;
    else void this.#postNow();
  }

  async #postNow(): Promise<void> {
    this.#posting = true;
    try {
      do {
        this.#postAgain = false;
        this.#heard(await this.#post(0));
      } while (this.#postAgain);
    } catch {
      // The request that is parked fails too, or its successor tells it.
    } finally {
      this.#posting = false;
    }
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted)
      try {
        const wait = this.#watermark.isBehind ? heartbeat : idleWait;
        const told = await this.#post(this.#epoch === null ? 0 : wait);
        this.#failures = 0;
        this.#heard(told);
      } catch (error) {
        if (signal.aborted) return;
        this.#failures++;
        this.#options.onFailure(error);
        const pause = Math.min(longestPause, firstPause * 2 ** Math.min(this.#failures - 1, 10));
        await delay(pause * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined);
      }
  }

  #post(wait: number): Promise<Told> {
    const { client, looker, node, serves = [] } = this.#options;
    const { applied, also } = this.#watermark.progress();
    const { kind, basis } = looker.consumer;
    const report: Report = {
      version: 1,
      kind,
      ...(node === undefined ? {} : { node }),
      basis,
      epoch: this.#epoch,
      applied,
      ...(also.length === 0 ? {} : { also }),
      known: this.#watermark.head,
      wait,
      ...(serves.length === 0 ? {} : { serves }),
      ...(looker.problem === undefined ? {} : { problem: looker.problem }),
    };
    return client.post(report, this.#stopping.signal);
  }

  #heard({ epoch, head, withdrawn }: Told): void {
    if (epoch !== this.#epoch) {
      // Another run of the coordinator: its numbers have nothing to do with those before, and it listed what it did for our old one.
      this.#epoch = epoch;
      this.#watermark = new Watermark();
      return;
    }
    this.#watermark.told(head, withdrawn);
    if (this.#watermark.isBehind) this.#options.looker.wake();
  }
}
