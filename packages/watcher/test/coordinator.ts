import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { LineReader, streamAcceptance, writeStreamAnswer } from "@lameduck/protocol";

/** A report as it is sent. */
interface Sent {
  readonly epoch: string | null;
  readonly applied: number;
  readonly also?: readonly (readonly [number, number])[];
  readonly known: number;
  readonly wait: number;
  readonly serves?: readonly string[];
  readonly problem?: string;
  readonly reason?: string;
}

interface Received {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly report: Sent;
}

/** The coordinator's side of the streams, without anything behind it: what is withdrawn is what the test says. */
export class CoordinatorStandIn {
  epoch = randomBytes(4).toString("hex");
  reports: Received[] = [];
  nonsense: string | undefined;
  /** Each answer is of another run. */
  isMany = false;
  /** It holds no answer back. */
  isHasty = false;
  #head = 0;
  readonly #withdrawn = new Map<number, { readonly address: string; readonly need: string | undefined }>();
  /** Each with whether it hears of what has a need. */
  readonly #waiting = new Map<() => void, (need: string | undefined) => boolean>();
  readonly #sockets = new Set<Duplex>();
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

  /** Reports that wait for news. */
  get parked(): number {
    return this.#waiting.size;
  }

  last(): Received {
    const last = this.reports.at(-1);
    if (last === undefined) throw new Error("nobody has reported");
    return last;
  }

  /** The furthest of the reports of this run. */
  progress(): { applied: number; also: Sent["also"] } {
    const own = this.reports.map(({ report }) => report).filter(({ epoch }) => epoch === this.epoch);
    const applied = Math.max(0, ...own.map((report) => report.applied));
    return { applied, also: own.at(-1)?.also };
  }

  /** @param need where only those hear of it that serve it: "load-balancer/aws/shop/web". */
  withdraw(address: string, need?: string): this {
    this.#withdrawn.set(++this.#head, { address, need });
    this.#wake(need);
    return this;
  }

  /** @returns whether it was there. */
  gone(number: number): boolean {
    return this.#withdrawn.delete(number);
  }

  /** Another process at the same address, that knows nothing of the one before. Nobody listens there meanwhile. */
  async restart(meanwhile: () => Promise<void>): Promise<void> {
    await this.stop();
    await meanwhile();
    this.epoch = randomBytes(4).toString("hex");
    this.reports = [];
    this.#head = 0;
    this.#withdrawn.clear();
    this.#server = this.#serve();
    await this.#listen();
  }

  async stop(): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    this.#wake();
    await once(this.#server, "close");
  }

  #serve(): Server {
    return createServer().on("upgrade", (request, socket, head) => {
      this.#sockets.add(socket.on("close", () => this.#sockets.delete(socket)).on("error", () => undefined));
      socket.write(streamAcceptance);
      const reader = new LineReader(32_768);
      // A report stands for all before it.
      let drop: () => void = () => undefined;
      const take = (chunk: Buffer): void => {
        for (const line of reader.take(chunk)) {
          drop();
          drop = this.#answer(request, socket, line ?? "");
        }
      };
      take(head);
      socket.on("data", take).on("close", () => drop());
    });
  }

  async #listen(): Promise<void> {
    this.#server.listen(this.#port, "127.0.0.1");
    await once(this.#server, "listening");
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  #wake(need?: string): void {
    for (const [wake, hears] of this.#waiting) if (hears(need)) wake();
  }

  /** @returns what keeps it from being answered. */
  #answer(request: IncomingMessage, socket: Duplex, line: string): () => void {
    const report = JSON.parse(line) as Sent;
    const { authorization } = request.headers;
    if (this.isMany) this.epoch = randomBytes(4).toString("hex");
    this.reports.push({ path: request.url ?? "", authorization, report });
    const isOfRun = report.epoch === this.epoch;
    const hears = (need: string | undefined): boolean =>
      need === undefined || report.serves?.includes(need) === true;
    const drop = (): void => {
      clearTimeout(timer);
      this.#waiting.delete(answer);
    };
    const answer = (): void => {
      drop();
      const withdrawn = Array.from(this.#withdrawn)
        .filter(([number, { need }]) => number > (isOfRun ? report.applied : 0) && hears(need))
        .map(([number, { address }]) => [address, number]);
      const said = JSON.stringify({ version: 1, epoch: this.epoch, head: this.#head, withdrawn });
      socket.write(writeStreamAnswer({ status: 200, text: this.nonsense ?? said }));
    };
    const last = Array.from(this.#withdrawn).findLast(([, { need }]) => !hears(need));
    const isNews = last === undefined ? report.known < this.#head : this.#heardAfter(report.known, hears);
    const isAtOnce = !isOfRun || isNews || report.wait === 0 || this.isHasty;
    const timer = setTimeout(answer, isAtOnce ? 0 : report.wait);
    if (!isAtOnce) this.#waiting.set(answer, hears);
    return drop;
  }

  #heardAfter(known: number, hears: (need: string | undefined) => boolean): boolean {
    return Array.from(this.#withdrawn).some(([number, { need }]) => number > known && hears(need));
  }
}
