/**
 * As many kube-proxies as a large cluster has, which report to one replica of the coordinator: each keeps one request parked while nothing
 * happens, applies what it is told after a lag of its own, and reports then, at least each second while it is behind. Says each second how
 * much it has sent. Usage: consumers.ts PLAN; ends with its input.
 */
import { connect, type Socket } from "node:net";
import { crowdNode } from "./objects.ts";

export interface ConsumersPlan {
  readonly host: string;
  readonly port: number;
  readonly count: number;
  readonly token: string;
  /** Each consumer's lag is drawn once, between these. */
  readonly lagMs: readonly [number, number];
}

export interface ConsumersSay {
  readonly reports: number;
  readonly failures: number;
  /** Consumers that have heard the coordinator at least once. */
  readonly connected: number;
}

const plan = JSON.parse(process.argv[2] ?? "") as ConsumersPlan;
const heartbeatMs = 1_000;
const waitMs = 30_000;
const counts = { reports: 0, failures: 0, connected: 0 };

/** One consumer on one kept-alive connection. An HTTP client of its own for each of thousands would cost more than what is measured. */
class Simulated {
  readonly #node: string;
  readonly #lagMs: number;
  #socket: Socket | undefined;
  #received = "";
  #epoch: string | null = null;
  #head = 0;
  #applied = 0;
  /** Of what it was told it will have applied all up to this. */
  #scheduled = 0;

  constructor(index: number) {
    this.#node = crowdNode(index);
    const [least, most] = plan.lagMs;
    this.#lagMs = least + Math.random() * (most - least);
  }

  open(): void {
    this.#received = "";
    this.#socket = connect({ host: plan.host, port: plan.port })
      .setNoDelay(true)
      .setEncoding("latin1")
      .on("connect", () => this.#report())
      .on("data", (chunk: string) => this.#take(chunk))
      .on("error", () => undefined)
      .on("close", () => {
        counts.failures++;
        setTimeout(() => this.open(), 1_000);
      });
  }

  #report(): void {
    counts.reports++;
    const behind = this.#applied < this.#head;
    const body = JSON.stringify({
      version: 1,
      kind: "kube-proxy",
      node: this.#node,
      basis: "rules",
      epoch: this.#epoch,
      applied: this.#applied,
      known: this.#head,
      wait: behind ? 0 : waitMs,
    });
    this.#socket?.write(
      `POST /v1/consumers/${this.#node} HTTP/1.1\r\nhost: coordinator\r\nauthorization: Bearer ${plan.token}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
  }

  #take(chunk: string): void {
    this.#received += chunk;
    const end = this.#received.indexOf("\r\n\r\n");
    if (end < 0) return;
    const length = Number(/content-length: (\d+)/i.exec(this.#received)?.[1] ?? Number.NaN);
    const body = this.#received.slice(end + 4);
    if (Number.isNaN(length)) throw new Error(`no content-length in: ${this.#received.slice(0, 200)}`);
    if (body.length < length) return;
    const status = this.#received.slice(9, 12);
    this.#received = "";
    if (status !== "200") {
      counts.failures++;
      setTimeout(() => this.#report(), 1_000);
      return;
    }
    this.#told(JSON.parse(body) as { epoch: string; head: number });
  }

  #told({ epoch, head }: { epoch: string; head: number }): void {
    if (this.#epoch === null) counts.connected++;
    if (epoch !== this.#epoch) this.#applied = this.#scheduled = 0;
    this.#epoch = epoch;
    this.#head = head;
    if (this.#applied >= head) return this.#report();
    // What it was told is applied after its lag; until then it looks and reports once a second.
    if (head > this.#scheduled) {
      this.#scheduled = head;
      setTimeout(() => {
        if (epoch === this.#epoch) this.#applied = Math.max(this.#applied, head);
      }, this.#lagMs);
    }
    setTimeout(() => this.#report(), heartbeatMs);
  }
}

process.stdin.on("end", () => process.exit(0)).resume();
for (let index = 0; index < plan.count; index++) {
  new Simulated(index).open();
  // The listener's backlog is not what is measured.
  if (index % 100 === 99) await new Promise((resolve) => setTimeout(resolve, 50));
}
setInterval(() => process.stdout.write(`${JSON.stringify(counts satisfies ConsumersSay)}\n`), 1_000);
