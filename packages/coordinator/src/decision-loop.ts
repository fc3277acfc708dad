interface DecisionLoopOptions {
  /** @returns whether time alone may decide something. */
  readonly decide: () => boolean;
  /** Answers the requests that have waited long enough. */
  readonly sweep: () => void;
  readonly forget: () => void;
  readonly onFault: (error: unknown) => void;
}

/** From an event to the decision on it, so that many reports share one decision. */
const batchingMs = 20;
/** Between two decisions while nothing happens and a timeout may be due. */
const pendingMs = 250;
const sweepMs = 100;
const forgetMs = 60_000;

/** Decides soon after each event, and at intervals while a termination is pending. */
export class DecisionLoop {
  readonly #options: DecisionLoopOptions;
  readonly #timers: NodeJS.Timeout[] = [];
  #soon: NodeJS.Timeout | undefined;
  #isPending = false;
  #isStopped = false;

  constructor(options: DecisionLoopOptions) {
    this.#options = options;
  }

  start(): void {
    const { sweep, forget } = this.#options;
    this.#timers.push(
      setInterval(() => this.#safely(sweep), sweepMs),
      setInterval(() => this.#isPending && this.#decide(), pendingMs),
      setInterval(() => this.#safely(forget), forgetMs),
    );
  }

  /** Something happened. */
  soon(): void {
    if (this.#isStopped) return;
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      this.#decide();
      this.#safely(this.#options.sweep);
    }, batchingMs);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#soon);
    for (const timer of this.#timers) clearInterval(timer);
  }

  #decide(): void {
    this.#safely(() => (this.#isPending = this.#options.decide()));
  }

  /** An exception in one decision must not end the loop. */
  #safely(run: () => unknown): void {
    try {
      run();
    } catch (error) {
      this.#options.onFault(error);
    }
  }
}
