import { messageOf } from "@lameduck/drain/common";
import { setTimeout as delay } from "node:timers/promises";
import type { CoordinatorClient } from "./coordinator-client.ts";
import { unreadable } from "./consumer.ts";
import type { Subscriber, Poller } from "./poller.ts";
import type { Report, CoordinatorAnswer } from "./report.ts";
import { Watermark } from "./watermark.ts";

/** Milliseconds of a long poll while everything is applied, and between heartbeats while something is not. */
const idleWait = 30_000;
const heartbeat = 1_000;
/** Milliseconds between two questions at least: a coordinator that holds none back would be asked a thousand times a second. */
const leastInterval = 50;
/** Milliseconds of the first and of the longest pause after a failure. */
const firstPause = 250;
const longestPause = 5_000;

export interface SessionOptions {
  readonly client: CoordinatorClient;
  readonly poller: Poller;
  readonly node: string | undefined;
  readonly serves?: readonly string[];
  /** @param isNews not the same as of the request before. */
  readonly onFailure: (error: unknown, isNews: boolean) => void;
}

/** Reports one consumer's progress to one replica of the coordinator, and learns of withdrawals from it. */
export class Session implements Subscriber {
  #watermark = new Watermark();
  #epoch: string | null = null;
  #failures = 0;
  /** Of the last request, where it failed. */
  #problem: string | undefined;
  /** Answers of another epoch than the one before, in a row. */
  #changes = 0;
  #posting = false;
  #postAgain = false;
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

  /** Failed requests since the last good one. */
  get failures(): number {
    return this.#failures;
  }

  async stop(): Promise<void> {
    this.#options.poller.unsubscribe(this);
    this.#stopping.abort();
    await this.#running;
    this.#options.client.close();
  }

  /** Reports at once: the long poll that is under way carries the former watermark. */
  advanced(): void {
    if (this.#posting) this.#postAgain = true;
    else void this.#postNow();
  }

  async #postNow(): Promise<void> {
    this.#posting = true;
    try {
      do {
        this.#postAgain = false;
        this.#receive(await this.#post(0));
      } while (this.#postAgain);
    } catch {
      // The long poll fails, too, or its successor reports.
    } finally {
      this.#posting = false;
    }
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted)
      try {
        const wait = this.#watermark.isBehind ? heartbeat : idleWait;
        const next = delay(leastInterval, undefined, { signal });
        next.catch(() => undefined);
        this.#receive(await this.#post(this.#epoch === null ? 0 : wait));
        this.#failures = 0;
        this.#problem = undefined;
        await next;
      } catch (error) {
        if (signal.aborted) return;
        this.#failures++;
        const problem = messageOf(error);
        this.#options.onFailure(error, problem !== this.#problem);
        this.#problem = problem;
        const pause = Math.min(longestPause, firstPause * 2 ** Math.min(this.#failures - 1, 10));
        await delay(pause * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined);
      }
  }

  #post(wait: number): Promise<CoordinatorAnswer> {
    const { client, poller, node, serves = [] } = this.#options;
    const { applied, also } = this.#watermark.progress();
    const { kind, basis } = poller.consumer;
    const reason = poller.consumer.reason?.();
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
      ...(poller.problem === undefined ? {} : { problem: poller.problem }),
      ...(reason === undefined ? {} : { reason }),
    };
    return client.post(report, this.#stopping.signal);
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
