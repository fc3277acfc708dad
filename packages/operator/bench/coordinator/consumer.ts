import { connect, type Socket } from "node:net";

interface Told {
  readonly epoch: string;
  readonly head: number;
  readonly withdrawn: readonly (readonly [string, number])[];
}

/** A consumer that applies everything after its lag, and speaks as the watcher does: one request is always there. */
export class SimulatedConsumer {
  readonly #socket: Socket;
  readonly #node: string;
  readonly #lag: () => number;
  #epoch: string | null = null;
  #head = 0;
  #applied = 0;
  #text = "";
  #answers = 0;

  constructor(port: number, node: string, lag: () => number) {
    this.#node = node;
    this.#lag = lag;
    this.#socket = connect(port, "127.0.0.1", () => this.#post());
    this.#socket.setEncoding("utf8").setNoDelay(true);
    this.#socket.on("data", (chunk: string) => this.#read(chunk));
    this.#socket.on("error", () => undefined);
  }

  get answers(): number {
    return this.#answers;
  }

  close(): void {
    this.#socket.destroy();
  }

  #post(): void {
    const isBehind = this.#applied < this.#head;
    const body = JSON.stringify({
      version: 1,
      kind: "kube-proxy",
      node: this.#node,
      basis: "rules",
      epoch: this.#epoch,
      applied: this.#applied,
      known: this.#head,
      wait: isBehind ? 1_000 : 30_000,
    });
    this.#socket.write(
      `POST /v1/consumers/kube-proxy%2F${this.#node} HTTP/1.1\r\nhost: c\r\nauthorization: Bearer token-${this.#node}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
  }

  #read(chunk: string): void {
    this.#text += chunk;
    const end = this.#text.indexOf("\r\n\r\n");
    if (end === -1) return;
    const head = this.#text.slice(0, end);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? NaN);
    if (this.#text.length < end + 4 + length) return;
    const body = this.#text.slice(end + 4, end + 4 + length);
    this.#text = this.#text.slice(end + 4 + length);
    this.#answers++;
    if (!/^HTTP\/1.1 200/.test(head)) {
      // As the watcher does: it is asked again soon.
      setTimeout(() => this.#post(), 500);
      return;
    }
    this.#hear(JSON.parse(body) as Told);
  }

  #hear({ epoch, head }: Told): void {
    const isNew = epoch !== this.#epoch;
    if (isNew) this.#applied = 0;
    this.#epoch = epoch;
    if (head > this.#head || (isNew && head > 0)) setTimeout(() => this.#apply(head), this.#lag());
    this.#head = head;
    this.#post();
  }

  /** Told with the next request, at the latest a heartbeat from now. */
  #apply(number: number): void {
    this.#applied = Math.max(this.#applied, number);
  }
}
