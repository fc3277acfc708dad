import { connect, type Socket } from "node:net";
import { until } from "./child.ts";

/** A client that does on its connection exactly what it is told, however rude. */
export class RawClient {
  readonly socket: Socket;
  received = "";
  /** Whether the server has ended its half of the connection. */
  ended = false;
  closed = false;
  error: string | undefined;

  constructor(port: number) {
    this.socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    this.socket.setEncoding("latin1").on("data", (text: string) => (this.received += text));
    this.socket.on("end", () => (this.ended = true));
    this.socket.on("close", () => (this.closed = true));
    this.socket.on("error", (error: NodeJS.ErrnoException) => (this.error = error.code));
  }

  send(text: string): this {
    this.socket.write(text, "latin1");
    return this;
  }

  get(path: string): this {
    return this.send(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  }

  get answers(): number {
    return this.received.split("HTTP/1.1 200").length - 1;
  }

  async until(isTrue: (self: this) => boolean): Promise<this> {
    await until(
      () => isTrue(this),
      20_000,
      () => `received: ${this.received.slice(0, 500)} ${this.error ?? ""}`,
    );
    return this;
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}

const frame = (type: number, flags: number, stream: number, payload: readonly number[] = []): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, Buffer.from(payload)]);
};

/** An HTTP/2 client that ignores GOAWAY. It sends the preface, then a GET / on each new stream (RFC 9113, RFC 7541). */
export class RudeHttp2Client {
  readonly socket: Socket;
  #stream = -1;
  closed = false;

  constructor(port: number) {
    this.socket = connect(port, "127.0.0.1").resume();
    this.socket.on("close", () => (this.closed = true)).on("error", () => {});
    this.socket.write(Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(4, 0, 0)]));
  }

  /** HEADERS with END_STREAM and END_HEADERS: method GET, scheme http, path /, authority x. */
  get(): void {
    this.#stream += 2;
    if (this.socket.writable)
      this.socket.write(frame(1, 5, this.#stream, [0x82, 0x86, 0x84, 0x41, 0x01, 0x78]));
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}
