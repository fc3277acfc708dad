import type { KubernetesClient, ServerTime } from "./client.ts";

/**
 * The difference between the API server's clock and ours. Its Date header has whole seconds only; each answer bounds the difference by a second and a
 * round trip, and all of them together narrow it down.
 */
export class ServerClock {
  #low = -Infinity;
  #high = Infinity;
  #samples = 0;

  /** Learns from each answer that this client gets. */
  static of(client: KubernetesClient): ServerClock {
    const clock = new ServerClock();
    client.onServerTime((time) => clock.note(time));
    return clock;
  }

  note({ server, sent, received }: ServerTime): void {
    this.#samples++;
    // At some moment between `sent` and `received` here it was between `server` and a second later there.
    const [low, high] = [server - received, server + 1_000 - sent];
    const both = [Math.max(this.#low, low), Math.min(this.#high, high)] as const;
    // A clock was set, or several servers disagree. The last answer counts.
    [this.#low, this.#high] = both[0] <= both[1] ? both : [low, high];
  }

  /** The server's time minus ours, and how far off that may be; undefined before the first answer. */
  get offset():
    | { readonly milliseconds: number; readonly within: number; readonly samples: number }
    | undefined {
    if (this.#samples === 0) return undefined;
    return {
      milliseconds: (this.#low + this.#high) / 2,
      within: (this.#high - this.#low) / 2,
      samples: this.#samples,
    };
  }

  /** A time of the server on our clock (Date.now()). */
  toLocal(server: number): number {
    return server - (this.offset?.milliseconds ?? 0);
  }

  /** The server's time. */
  readonly now = (): number => Math.round(this.toServer(Date.now()));

  toServer(local: number): number {
    return local + (this.offset?.milliseconds ?? 0);
  }

  /**
   * How long to wait before the next question, so that its answer halves the uncertainty: until the middle of it falls on a full second of
   * the server.
   */
  get nextQuestion(): number {
    const { milliseconds } = this.offset ?? { milliseconds: 0 };
    const there = Date.now() + milliseconds;
    return 1_000 - (((there % 1_000) + 1_000) % 1_000);
  }
}
