import { connect, type Socket } from "node:net";

/** Added up over all consumers that share it. */
export interface ConsumerCounts {
  /** Consumers that have had at least one answer. */
  connected: number;
  answers: number;
  /** Answers other than 200, and connections that ended. */
  failures: number;
}

interface SimulatedOptions {
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
 * A kube-proxy that reports as the watcher does, on a stream: one report always waits, and is answered within a heartbeat while something is
 * not applied. It asks for the stream on a plain socket: thousands of HTTP clients would cost more than the coordinator that is measured.
 */
export class SimulatedConsumer {
  readonly #options: SimulatedOptions;
  #socket: Socket | undefined;
  #received = "";
  #isStream = false;
  #epoch: string | null = null;
  #head = 0;
  #applied = 0;

  constructor(options: SimulatedOptions) {
    this.#options = options;
  }

  open(): void {
    const { host, port, counts, node, token } = this.#options;
    this.#received = "";
    this.#isStream = false;
    this.#socket = connect({ host, port })
      .setNoDelay(true)
      .setEncoding("latin1")
      .on("connect", () =>
        this.#socket?.write(
          `GET /v1/consumers/kube-proxy%2F${node} HTTP/1.1\r\nhost: coordinator\r\nauthorization: Bearer ${token}\r\n` +
            "connection: Upgrade\r\nupgrade: lameduck/1\r\n\r\n",
        ),
      )
      .on("data", (chunk: string) => this.#receive(chunk))
      .on("error", () => undefined)
      .on("close", () => {
        counts.failures++;
        setTimeout(() => this.open(), 1_000);
      });
  }

  #report(): void {
    const { node } = this.#options;
    const report = {
      version: 1,
      kind: "kube-proxy",
      node,
      basis: "rules",
      epoch: this.#epoch,
      applied: this.#applied,
      known: this.#head,
      wait: this.#applied < this.#head ? heartbeatMs : idleMs,
    };
    this.#socket?.write(`${JSON.stringify(report)}\n`);
  }

  #receive(chunk: string): void {
    this.#received += chunk;
    if (!this.#isStream) {
      const end = this.#received.indexOf("\r\n\r\n");
      if (end < 0) return;
      if (!this.#received.startsWith("HTTP/1.1 101 ")) throw new Error(`no stream: ${this.#received}`);
      this.#received = this.#received.slice(end + 4);
      this.#isStream = true;
      this.#report();
    }
    const lines = this.#received.split("\n");
    this.#received = lines.pop() ?? "";
    for (const line of lines) this.#answered(line);
  }

  #answered(line: string): void {
    const { counts } = this.#options;
    counts.answers++;
    const isOk = line.startsWith("200 ");
    if (isOk) this.#learn(JSON.parse(line.slice(4)) as { epoch: string; head: number });
    else counts.failures++;
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
