export interface RoundsOptions {
  /** @returns whether time alone may decide something. */
  readonly decide: () => boolean;
  /** Answers whoever has waited long enough. */
  readonly sweep: () => void;
  readonly forget: () => void;
  readonly onFault: (error: unknown) => void;
}

/** Milliseconds between something that happened and the decision on it: many reports come at once. */
const soonest = 20;
/** Between two decisions while only time passes. */
const patient = 250;
const sweeping = 100;
const forgetting = 60_000;

/** When the coordinator looks again: at once where something happened, by and by where something is pending. */
export class Rounds {
  readonly #options: RoundsOptions;
  readonly #timers: NodeJS.Timeout[] = [];
  #soon: NodeJS.Timeout | undefined;
  #isPending = false;
  #isStopped = false;

  constructor(options: RoundsOptions) {
    this.#options = options;
  }

  start(): void {
    const { sweep, forget } = this.#options;
    this.#timers.push(
      setInterval(() => this.#safely(sweep), sweeping),
      setInterval(() => this.#isPending && this.#decide(), patient),
      setInterval(() => this.#safely(forget), forgetting),
    );
  }

  /** Something happened. */
  soon(): void {
    if (this.#isStopped) return;
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      this.#decide();
      this.#safely(this.#options.sweep);
    }, soonest);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#soon);
    for (const timer of this.#timers) clearInterval(timer);
  }

  #decide(): void {
    this.#safely(() => (this.#isPending = this.#options.decide()));
  }

  /** One mistake of ours must not end all decisions. */
  #safely(run: () => unknown): void {
    try {
      run();
    } catch (error) {
      this.#options.onFault(error);
    }
  }
}
