import type { Server as HttpServer } from "node:http";
import type { Server, Socket } from "node:net";

/** Loopback: the pod's own containers, and `kubectl port-forward`. */
export const isLoopback = (address: string): boolean => /^(?:::ffff:)?127\.0\.0\.1$|^::1$/.test(address);

/** Connections of one address. A pod needs two; all pods of a node may share the node's address. */
const mostPerAddress = 500;

/** Limits the connections of one address, so that others find room. */
export function limitConnections(server: Server, most = mostPerAddress): void {
  const counts = new Map<string, number>();
  server.on("connection", (socket: Socket) => {
    const address = socket.remoteAddress ?? "";
    if (isLoopback(address)) return;
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

/** Connections whose first request has not arrived. It takes milliseconds, and half a head of it 25 kB. */
const mostUnheard = 2_000;

/** Drops the oldest connections that have not asked anything, where there are many: there are more addresses than memory. */
export function limitUnheard(server: HttpServer, most = mostUnheard): void {
  const unheard = new Set<Socket>();
  server.on("connection", (socket) => {
    unheard.add(socket);
    socket.once("close", () => unheard.delete(socket));
    const [oldest] = unheard;
    if (unheard.size <= most || !oldest) return;
    unheard.delete(oldest);
    oldest.destroy();
  });
  server.on("request", ({ socket }) => unheard.delete(socket));
  if (server.listenerCount("upgrade") > 0)
    server.on("upgrade", (_request, socket: Socket) => unheard.delete(socket));
}

/** Milliseconds. */
const window = 10_000;
/** Refused tokens of one address in that time. A watcher needs one token, and a new one when that expires. */
const mostRefused = 30;
const mostAddresses = 10_000;

/** Addresses that sent too many invalid tokens. The API server is not asked about further ones for a while. */
export class RefusedAddresses {
  readonly #now: () => number;
  readonly #refused = new Map<string, { count: number; readonly until: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  isBlocked(address: string): boolean {
    const known = this.#refused.get(address);
    return known !== undefined && known.until > this.#now() && known.count >= mostRefused;
  }

  countRefusal(address: string): void {
    if (isLoopback(address)) return;
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
