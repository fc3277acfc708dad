import type { Server, Socket } from "node:net";

/** Its own containers, and whoever an administrator forwards here. */
const isOwn = (address: string): boolean => /^(?:::ffff:)?127\.0\.0\.1$|^::1$/.test(address);

/** Of one address: a pod needs two, and behind that of a node there may be all of its pods. */
const mostOfOne = 1_000;

/** No address takes so many connections that others find none. */
export function limitConnections(server: Server, most = mostOfOne): void {
  const counts = new Map<string, number>();
  server.on("connection", (socket: Socket) => {
    const address = socket.remoteAddress ?? "";
    if (isOwn(address)) return;
    const count = counts.get(address) ?? 0;
    if (count >= most) {
      socket.destroy();
      return;
    }
    counts.set(address, count + 1);
    socket.once("close", () => {
      const left = (counts.get(address) ?? 1) - 1;
      if (left > 0) counts.set(address, left);
      else counts.delete(address);
    });
  });
}

/** Milliseconds. */
const window = 10_000;
/** Tokens of one address that the API server may refuse in that time: a watcher shows one, and a new one when that ends. */
const mostRefused = 30;
const mostAddresses = 10_000;

/** Addresses that show tokens which nobody issued: the API server is not asked about any number of them. */
export class RefusedAddresses {
  readonly #now: () => number;
  readonly #refused = new Map<string, { count: number; readonly until: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  isBarred(address: string): boolean {
    const known = this.#refused.get(address);
    return known !== undefined && known.until > this.#now() && known.count >= mostRefused;
  }

  refused(address: string): void {
    if (isOwn(address)) return;
    const known = this.#refused.get(address);
    if (known && known.until > this.#now()) {
      known.count++;
      return;
    }
    this.#refused.delete(address);
    this.#refused.set(address, { count: 1, until: this.#now() + window });
    const [oldest] = this.#refused.keys();
    if (this.#refused.size > mostAddresses && oldest !== undefined) this.#refused.delete(oldest);
  }
}
