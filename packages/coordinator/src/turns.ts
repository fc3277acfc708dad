interface Queue {
  running: number;
  readonly waiting: (() => void)[];
}

/** Lets so much work of one key be under way at a time. The rest waits for its turn. */
export class Turns {
  readonly #atOnce: number;
  readonly #mostWaiting: number;
  readonly #queues = new Map<string, Queue>();

  constructor(atOnce: number, mostWaiting = Infinity) {
    this.#atOnce = atOnce;
    this.#mostWaiting = mostWaiting;
  }

  /** @returns undefined where too much of this key waits already. */
  async take<T>(key: string, work: () => Promise<T>): Promise<T | undefined> {
    const own = this.#queues.get(key) ?? { running: 0, waiting: [] };
    this.#queues.set(key, own);
    if (own.running < this.#atOnce) own.running++;
    else if (own.waiting.length >= this.#mostWaiting) return undefined;
    // Whoever ends hands its turn over.
    else await new Promise<void>((resolve) => own.waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = own.waiting.shift();
      if (next) next();
      else if (--own.running === 0) this.#queues.delete(key);
    }
  }
}
