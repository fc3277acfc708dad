import type { Change, EndpointState } from "./view.ts";

/** Applies changes when their time has come, never two applications closer together than `spacing`. */
export class Learner {
  readonly #now: () => number;
  readonly #spacing: number;
  readonly #apply: (states: readonly EndpointState[]) => void | Promise<void>;
  readonly #waiting: Change[] = [];
  #timer: NodeJS.Timeout | undefined;
  #notBefore = -Infinity;
  #applying = false;
  #stopped = false;

  constructor(options: {
    now: () => number;
    spacing: number;
    /** May take time (a reload); changes that come due meanwhile are applied together after it. */
    apply: (states: readonly EndpointState[]) => void | Promise<void>;
  }) {
    this.#now = options.now;
    this.#spacing = options.spacing;
    this.#apply = options.apply;
  }

  /**
   * Changes arrive in the order in which they happened: a sender that applies a change knows all earlier ones, as every sync of a kube-proxy and every
   * reload of an ingress does. So a change that would be slower than a later one comes with that one.
   */
  learn(change: Change): void {
    const slower = this.#waiting.findIndex((other) => other.at > change.at);
    if (slower !== -1)
      for (let index = slower; index < this.#waiting.length; index++)
        this.#waiting[index] = { ...this.#waiting[index]!, at: change.at };
    this.#waiting.push(change);
    this.#arm();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #arm(): void {
    clearTimeout(this.#timer);
    const first = this.#waiting[0];
    if (!first || this.#applying || this.#stopped) return;
    const wait = Math.max(first.at, this.#notBefore) - this.#now();
    this.#timer = setTimeout(() => void this.#due(), Math.max(0, Math.ceil(wait)));
  }

  async #due(): Promise<void> {
    const now = this.#now();
    const count = this.#waiting.findIndex((change) => change.at > now);
    // A timer may be a fraction of a millisecond early.
    const due =
      now < this.#notBefore ? [] : this.#waiting.splice(0, count === -1 ? this.#waiting.length : count);
    if (due.length > 0) {
      this.#applying = true;
      try {
        await this.#apply(due.map((change) => change.state));
      } finally {
        this.#applying = false;
        this.#notBefore = this.#now() + this.#spacing;
      }
    }
    this.#arm();
  }
}
