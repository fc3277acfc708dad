import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/** Once, and a little longer than a loopback takes: long enough for a request and an end of stream to cross each other. */
const oneWay = 5;

/**
 * A load balancer of layer 4 as kube-proxy is one: decides for each new connection, leaves established ones where they are, and
 * is some milliseconds away.
 */
export class Balancer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  target: number;
  /** Connections made to each target so far. */
  readonly made = new Map<number, number>();

  constructor(target: number) {
    this.target = target;
    this.#server = createServer({ allowHalfOpen: true }, (near) => this.#join(near));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", 1024, () => resolve()));
    return this;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(near: Socket): void {
    const target = this.target;
    this.made.set(target, (this.made.get(target) ?? 0) + 1);
    const far = connect({ port: target, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
    near.setNoDelay(true);
    this.#forward(near, far);
    this.#forward(far, near);
  }

  #forward(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    const later = (what: () => void): void => void setTimeout(() => to.destroyed || what(), oneWay);
    from.on("data", (chunk) => later(() => to.write(chunk)));
    from.on("end", () => later(() => to.end()));
    from.on("error", () => later(() => to.resetAndDestroy()));
    from.on("close", () => this.#sockets.delete(from));
  }
}
