import { connect, type Socket } from "node:net";

/** Added up over all consumers that share it. */
export interface ConsumerCounts {
  /** Consumers that have had at least one answer. */
  connected: number;
  answers: number;
  /** Answers other than 200, and connections that ended. */
  failures: number;
}

export interface SimulatedOptions {
  readonly host: string;
  readonly port: number;
  readonly node: string;
  readonly token: string;
  /** Milliseconds from hearing of a withdrawal until it is applied. */
  readonly lag: () => number;
  readonly counts: ConsumerCounts;
}

const heartbeatMs = 1_000;
const idleMs = 30_000;

/**
 * A kube-proxy that reports as the watcher does: one request is always parked, and returns within a heartbeat while something is not applied.
 * It speaks HTTP on a plain socket: thousands of HTTP clients would cost more than the coordinator that is measured.
 */
export class SimulatedConsumer {
  readonly #options: SimulatedOptions;
  #socket: Socket | undefined;
  #received = "";
  #epoch: string | null = null;
  #head = 0;
  #applied = 0;
  #closed = false;

  constructor(options: SimulatedOptions) {
    this.#options = options;
  }

  open(): void {
    const { host, port, counts } = this.#options;
    this.#received = "";
    this.#socket = connect({ host, port })
      .setNoDelay(true)
      .setEncoding("latin1")
      .on("connect", () => this.#report())
      .on("data", (chunk: string) => this.#receive(chunk))
      .on("error", () => undefined)
      .on("close", () => {
        if (this.#closed) return;
        counts.failures++;
        setTimeout(() => this.open(), 1_000);
      });
  }

  close(): void {
    this.#closed = true;
    this.#socket?.destroy();
  }

  #report(): void {
    const { node, token } = this.#options;
    const body = JSON.stringify({
      version: 1,
      kind: "kube-proxy",
      node,
      basis: "rules",
      epoch: this.#epoch,
      applied: this.#applied,
      known: this.#head,
      wait: this.#applied < this.#head ? heartbeatMs : idleMs,
    });
    this.#socket?.write(
      `POST /v1/consumers/kube-proxy%2F${node} HTTP/1.1\r\nhost: coordinator\r\nauthorization: Bearer ${token}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
  }

  #receive(chunk: string): void {
    this.#received += chunk;
    const end = this.#received.indexOf("\r\n\r\n");
    if (end < 0) return;
    const length = Number(/content-length: (\d+)/i.exec(this.#received)?.[1] ?? Number.NaN);
    if (Number.isNaN(length)) throw new Error(`no content-length in: ${this.#received.slice(0, 200)}`);
    const body = this.#received.slice(end + 4);
    if (body.length < length) return;
    const isOk = this.#received.startsWith("HTTP/1.1 200");
    this.#received = "";
    this.#options.counts.answers++;
    if (isOk) this.#learn(JSON.parse(body) as { epoch: string; head: number });
    else this.#options.counts.failures++;
    setTimeout(() => this.#report(), isOk ? 0 : heartbeatMs / 2);
  }

  #learn({ epoch, head }: { readonly epoch: string; readonly head: number }): void {
    if (this.#epoch === null) this.#options.counts.connected++;
    const isNew = epoch !== this.#epoch;
    if (isNew) this.#applied = 0;
    this.#epoch = epoch;
    if (head > this.#head || (isNew && head > 0))
      setTimeout(() => {
        if (epoch === this.#epoch) this.#applied = Math.max(this.#applied, head);
      }, this.#options.lag());
    this.#head = head;
  }
}
