import type { ClientHttp2Stream, IncomingHttpHeaders } from "node:http2";

import { Call } from "./call.ts";

/** An empty message of any type: not compressed, no bytes (grpc/doc/PROTOCOL-HTTP2.md). */
const emptyMessage = Buffer.from([0, 0, 0, 0, 0]);
const prefix = 5;

/** One gRPC call, unary or with a stream of answers; the request is an empty message, which every type of protobuf can be. */
export class GrpcCall extends Call {
  override readonly headers = { "content-type": "application/grpc", te: "trailers" };
  override readonly message = emptyMessage;
  readonly #streams: boolean;
  #messages = 0;
  /** Of a message's prefix, and of its body still to come. */
  #head = Buffer.alloc(0);
  #rest = 0;

  constructor(streams: boolean) {
    super(0);
    this.#streams = streams;
  }

  override get wrong(): string | undefined {
    if (this.status >= 500) return undefined;
    if (this.grpcStatus === undefined) return "NO_GRPC_STATUS";
    if (this.grpcStatus !== 0) return undefined;
    if (this.#rest > 0 || this.#head.length > 0) return "HALF_A_MESSAGE";
    return this.#streams || this.#messages === 1 ? undefined : "NOT_ONE_MESSAGE";
  }

  override follow(stream: ClientHttp2Stream): void {
    super.follow(stream);
    stream.on("trailers", (trailers) => this.#status(trailers));
  }

  protected override began(headers: IncomingHttpHeaders): void {
    super.began(headers);
    // An answer without messages says its status in its only headers.
    this.#status(headers);
  }

  protected override came(bytes: Buffer): void {
    super.came(bytes);
    let at = 0;
    while (at < bytes.length) {
      if (this.#rest > 0) {
        const taken = Math.min(this.#rest, bytes.length - at);
        this.#rest -= taken;
        at += taken;
      } else {
        const taken = Math.min(prefix - this.#head.length, bytes.length - at);
        this.#head = Buffer.concat([this.#head, bytes.subarray(at, at + taken)]);
        at += taken;
        if (this.#head.length < prefix) return;
        this.#rest = this.#head.readUInt32BE(1);
        this.#head = Buffer.alloc(0);
        this.#messages++;
      }
    }
  }

  #status(headers: IncomingHttpHeaders): void {
    const text = headers["grpc-status"];
    if (typeof text === "string" && /^\d{1,3}$/.test(text)) this.grpcStatus = Number(text);
  }
}
