import { orAborted } from "@lameduck/drain/common";

/** The pause after the first throttled call, and the longest one. */
const firstPauseMs = 1_000;
const longestPauseMs = 60_000;

/**
 * Calls to a cloud's API from all groups of a process. AWS gives an account 40 calls at once and 10 a second more
 * (docs.aws.amazon.com, elb-api-throttling), Google a project 1,500 a minute (api-rate-limits). A load balancer's controller needs them, too.
 */
const callsPerSecond = 5;
const callsAtOnce = 10;

interface Waiting {
  readonly isUrgent: boolean;
  readonly go: () => void;
}

/** A token bucket. Urgent calls go first; all wait after one was throttled. */
export class CallBudget {
  /** Groups that share it: the more, the rarer each is read that nobody waits for. */
  groups = 1;
  #calls = 0;
  #tokens: number;
  #filledAt = performance.now();
  #pausedUntil = 0;
  #pauseMs = firstPauseMs;
  #timer: NodeJS.Timeout | undefined;
  readonly #waiting: Waiting[] = [];
  readonly #perSecond: number;
  readonly #atOnce: number;

  constructor(perSecond = callsPerSecond, atOnce = callsAtOnce) {
    this.#perSecond = perSecond;
    this.#atOnce = atOnce;
    this.#tokens = atOnce;
  }

  /** Calls that were let through. */
  get calls(): number {
    return this.#calls;
  }

  /** Resolves when a call may be made. @throws with the signal. */
  async take(isUrgent: boolean, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const one = { isUrgent, go: resolve };
    this.#waiting.push(one);
    this.#next();
    try {
      await orAborted(promise, signal);
    } finally {
      const at = this.#waiting.indexOf(one);
      if (at >= 0) this.#waiting.splice(at, 1);
    }
  }

  /** The API has refused a call because there were too many. */
  throttled(): void {
    this.#pausedUntil = performance.now() + this.#pauseMs * (0.5 + Math.random());
    this.#pauseMs = Math.min(longestPauseMs, 2 * this.#pauseMs);
    this.#tokens = Math.min(this.#tokens, 1);
  }

  answered(): void {
    this.#pauseMs = firstPauseMs;
  }

  #next(): void {
    const now = performance.now();
    this.#tokens = Math.min(this.#atOnce, this.#tokens + ((now - this.#filledAt) / 1_000) * this.#perSecond);
    this.#filledAt = now;
    while (this.#waiting.length > 0 && this.#tokens >= 1 && now >= this.#pausedUntil) {
      const urgent = this.#waiting.findIndex(({ isUrgent }) => isUrgent);
      const [one] = this.#waiting.splice(Math.max(0, urgent), 1);
      this.#tokens--;
      this.#calls++;
      one?.go();
    }
    if (this.#waiting.length === 0 || this.#timer !== undefined) return;
    const forToken = ((1 - this.#tokens) / this.#perSecond) * 1_000;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#next();
      },
      Math.max(1, forToken, this.#pausedUntil - now),
    );
    this.#timer.unref();
  }
}
