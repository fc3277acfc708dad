import { messageOf } from "@lameduck/drain/common";
import type { CoordinatorAnswer } from "@lameduck/protocol";
import { setTimeout as delay } from "node:timers/promises";
import type { CoordinatorClient } from "./coordinator-client.ts";
import { unreadable } from "./consumer.ts";
import type { Subscriber, Poller } from "./poller.ts";
import { Watermark } from "./watermark.ts";

/** For how long an answer may be held back while everything is applied. */
const idleWaitMs = 30_000;
/** Between two reports at least: a coordinator that holds no answer back would get a thousand a second. */
const leastIntervalMs = 50;
/** The first and the longest pause after a failure. */
const firstPauseMs = 250;
const longestPauseMs = 5_000;

export interface SessionOptions {
  readonly client: CoordinatorClient;
  readonly poller: Poller;
  readonly node: string | undefined;
  readonly serves?: readonly string[];
  /** @param isNews not the same as of the report before. */
  readonly onFailure: (error: unknown, isNews: boolean) => void;
}

/** Reports one consumer's progress to one replica of the coordinator, and learns of withdrawals from it. */
export class Session implements Subscriber {
  #watermark = new Watermark();
  #epoch: string | null = null;
  #failures = 0;
  /** Of the last report, where it failed. */
  #problem: string | undefined;
  /** Answers of another epoch than the one before, in a row. */
  #changes = 0;
  #reporting = false;
  #reportAgain = false;
  readonly #options: SessionOptions;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;

  constructor(options: SessionOptions) {
    this.#options = options;
    options.poller.subscribe(this);
    this.#running = this.#run();
  }

  get watermark(): Watermark {
    return this.#watermark;
  }

  /** Failed reports since the last good one. */
  get failures(): number {
    return this.#failures;
  }

  async stop(): Promise<void> {
    this.#options.poller.unsubscribe(this);
    this.#stopping.abort();
    await this.#running;
    this.#options.client.close();
  }

  /** Reports at once: the report that waits carries the former watermark. */
  advanced(): void {
    if (this.#reporting) this.#reportAgain = true;
    else void this.#reportNow();
  }

  async #reportNow(): Promise<void> {
    this.#reporting = true;
    try {
      do {
        this.#reportAgain = false;
        this.#receive(await this.#report(0));
      } while (this.#reportAgain);
    } catch {
      // The report that waits fails, too, or its successor tells.
    } finally {
      this.#reporting = false;
    }
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted)
      try {
        const waitMs = this.#watermark.isBehind ? this.#options.poller.heartbeatMs : idleWaitMs;
        const next = delay(leastIntervalMs, undefined, { signal });
        next.catch(() => undefined);
        this.#receive(await this.#report(this.#epoch === null ? 0 : waitMs));
        this.#failures = 0;
        this.#problem = undefined;
        await next;
      } catch (error) {
        if (signal.aborted) return;
        this.#failures++;
        const problem = messageOf(error);
        this.#options.onFailure(error, problem !== this.#problem);
        this.#problem = problem;
        const pause = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(this.#failures - 1, 10));
        await delay(pause * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined);
      }
  }

  #report(waitMs: number): Promise<CoordinatorAnswer> {
    const { client, poller, node, serves = [] } = this.#options;
    const report = {
      ...poller.known,
      node,
      serves,
      epoch: this.#epoch,
      ...this.#watermark.progress(),
      known: this.#watermark.head,
      waitMs,
    };
    return client.report(report, this.#stopping.signal);
  }

  /** @throws {OperatorError} where the answers never belong together: asked without a pause, it would go round in a circle. */
  #receive({ epoch, head, withdrawn }: CoordinatorAnswer): void {
    if (epoch === this.#epoch) this.#changes = 0;
    else {
      // The coordinator was restarted. Its numbers begin anew, and this answer was made for the former epoch.
      this.#epoch = epoch;
      this.#watermark = new Watermark();
      if (++this.#changes > 1)
        throw unreadable("the coordinator's answer", "its epoch changes with each answer");
      return;
    }
    this.#watermark.update(head, withdrawn);
    if (this.#watermark.isBehind) this.#options.poller.wake();
  }
}
