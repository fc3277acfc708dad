import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Report } from "../src/report.ts";

interface Received {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly report: Report;
}

/** The coordinator's side of the long poll, without anything behind it: what is withdrawn is what the test says. */
export class CoordinatorStandIn {
  epoch = randomBytes(4).toString("hex");
  reports: Received[] = [];
  nonsense: string | undefined;
  /** Each answer is of another run. */
  isMany = false;
  /** It holds no request back. */
  isHasty = false;
  #head = 0;
  readonly #withdrawn = new Map<number, string>();
  readonly #waiting = new Set<() => void>();
  #server: Server;
  #port = 0;

  private constructor() {
    this.#server = this.#serve();
  }

  static async start(): Promise<CoordinatorStandIn> {
    const coordinator = new CoordinatorStandIn();
    await coordinator.#listen();
    return coordinator;
  }

  get url(): URL {
    return new URL(`http://127.0.0.1:${this.#port}/`);
  }

  /** Requests that wait for news. */
  get parked(): number {
    return this.#waiting.size;
  }

  last(): Received {
    const last = this.reports.at(-1);
    if (last === undefined) throw new Error("nobody has reported");
    return last;
  }

  /** The furthest of the reports of this run. */
  progress(): { applied: number; also: Report["also"] } {
    const own = this.reports.map(({ report }) => report).filter(({ epoch }) => epoch === this.epoch);
    const applied = Math.max(0, ...own.map((report) => report.applied));
    return { applied, also: own.at(-1)?.also };
  }

  withdraw(address: string): this {
    this.#withdrawn.set(++this.#head, address);
    this.#wake();
    return this;
  }

  /** @returns whether it was there. */
  gone(number: number): boolean {
    return this.#withdrawn.delete(number);
  }

  /** Another process at the same address, that knows nothing of the one before. */
  async restart(): Promise<void> {
    await this.stop();
    this.epoch = randomBytes(4).toString("hex");
    this.reports = [];
    this.#head = 0;
    this.#withdrawn.clear();
    this.#server = this.#serve();
    await this.#listen();
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    this.#wake();
    await once(this.#server, "close");
  }

  #serve(): Server {
    return createServer((request, response) => {
      // One that knows no streams.
      if (request.method === "POST") void this.#answer(request, response);
      else response.writeHead(405).end();
    });
  }

  async #listen(): Promise<void> {
    this.#server.listen(this.#port, "127.0.0.1");
    await once(this.#server, "listening");
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const report = JSON.parse(await text(request)) as Report;
    if (this.isMany) this.epoch = randomBytes(4).toString("hex");
    this.reports.push({ path: request.url ?? "", authorization: request.headers.authorization, report });
    const hasNoNews = report.epoch === this.epoch && report.known >= this.#head;
    if (hasNoNews && report.wait > 0 && !this.isHasty)
      await new Promise<void>((resolve) => {
        const done = (): void => {
          clearTimeout(timer);
          this.#waiting.delete(done);
          resolve();
        };
        const timer = setTimeout(done, report.wait);
        this.#waiting.add(done);
        response.once("close", done);
      });
    const applied = report.epoch === this.epoch ? report.applied : 0;
    const withdrawn = Array.from(this.#withdrawn)
      .filter(([number]) => number > applied)
      .map(([number, address]) => [address, number]);
    response.end(
      this.nonsense ?? JSON.stringify({ version: 1, epoch: this.epoch, head: this.#head, withdrawn }),
    );
  }
}
