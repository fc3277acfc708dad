import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";

import { Call } from "./call.ts";
import { BaseConnection, type ConnectionOptions } from "./connection.ts";
import type { Exchange } from "./exchange.ts";
import { classify, gaveUp } from "./failures.ts";
import { GrpcCall } from "./grpc.ts";
import { headerFields } from "../request-form.ts";

/** What HTTP/2 needs besides. */
interface Http2ConnectionOptions extends ConnectionOptions {
  readonly grpc: boolean;
  readonly body?: Buffer | undefined;
}

/**
 * One HTTP/2 session with as many streams as are asked for. Node's client does on GOAWAY what clients do: no new stream on this session,
 * those up to the last one named are waited for, those above it are refused by it and go elsewhere.
 */
export class Http2Connection extends BaseConnection<Http2ConnectionOptions> {
  protected readonly socket: Socket;
  /** Sent when the session is there. */
  readonly #waiting = new Set<Exchange>();
  #session: ClientHttp2Session | undefined;
  #open = 0;

  constructor(options: Http2ConnectionOptions) {
    super(options);
    this.socket = this.open("h2", {
      connected: () => {
        for (const { record } of this.#waiting) record.connected = this.connected;
      },
      ready: (socket) => this.#begin(socket),
    });
  }

  get reusable(): boolean {
    return !this.gone && !this.retiring && !(this.#session?.closed ?? false);
  }

  send(exchange: Exchange): void {
    this.carry(exchange);
    if (exchange.mode === "new") this.retiring = true;
    if (this.#session) this.#start(exchange, this.#session);
    else {
      exchange.record.connected = this.connected;
      exchange.giveUp = () => this.#giveUpWaiting(exchange);
      this.#waiting.add(exchange);
    }
  }

  retire(): void {
    this.retiring = true;
    this.#closeIfDone();
  }

  override sever(): void {
    super.sever();
    this.#session?.destroy();
  }

  #begin(socket: Socket): void {
    if (this.options.secure && socket instanceof TLSSocket && socket.alpnProtocol !== "h2") {
      for (const exchange of this.#waiting)
        exchange.fail({ outcome: "wrong-body", error: "NO_H2" }, this.options.now());
      this.#waiting.clear();
      socket.destroy();
      // Its close comes later, and nothing must be sent on it until then.
      this.leave();
      return;
    }
    const session = connect(`${this.options.secure ? "https" : "http"}://${this.options.host}`, {
      createConnection: () => socket,
      settings: { enablePush: false },
    });
    this.#session = session;
    session.on("error", (error: NodeJS.ErrnoException) => {
      this.code = error.code ?? error.message;
    });
    // After its close no stream can be begun, and a pool must not count it any more.
    session.on("goaway", () => this.leave());
    session.on("close", () => this.finish());
    for (const exchange of this.#waiting) this.#start(exchange, session);
    this.#waiting.clear();
    this.#closeIfDone();
  }

  #start(exchange: Exchange, session: ClientHttp2Session): void {
    const { record } = exchange;
    const { grpc, host, secure, now, form, body } = this.options;
    record.connected = this.connected;
    if (session.closed || session.destroyed) {
      this.options.again(exchange);
      return;
    }
    record.sent = now();
    this.#open++;
    const call = grpc ? new GrpcCall(exchange.record.kind === "large") : new Call(exchange.wanted);
    const message = call.message ?? body;
    const stream = session.request(
      {
        ":method": grpc ? "POST" : form.method,
        ":scheme": secure ? "https" : "http",
        ":authority": host,
        ":path": exchange.path,
        "user-agent": "lameduck-load",
        ...call.headers,
        ...headerFields(form),
      },
      { endStream: message === undefined },
    );
    if (message !== undefined) stream.end(message);
    exchange.giveUp = () => {
      exchange.fail(gaveUp(this.connected), now());
      stream.close(constants.NGHTTP2_CANCEL);
    };
    call.follow(stream);
    // Reported by the code of the close.
    stream.on("error", () => undefined);
    stream.on("close", () => this.#ended(exchange, call, stream));
  }

  #ended(exchange: Exchange, call: Call, stream: ClientHttp2Stream): void {
    this.#open--;
    const { now, again, answered } = this.options;
    const { record } = exchange;
    record.received = call.received;
    // A gRPC call is judged by its own status, if it has one. The HTTP status is 200 for all.
    record.status = (call.grpcStatus ?? call.status) || undefined;
    if (!exchange.ended) {
      if (stream.rstCode === constants.NGHTTP2_REFUSED_STREAM) again(exchange);
      else if (stream.rstCode === 0 && call.complete) {
        answered(exchange, call);
        const wrong = call.wrong;
        if (wrong === undefined) exchange.answered(call, now());
        else exchange.fail({ outcome: "wrong-body", error: wrong }, now());
      } else {
        const failure = classify(this.#reason(stream), { connected: true, received: call.received });
        this.lose(exchange, failure);
      }
    }
    this.#closeIfDone();
  }

  /** Why a stream ended too soon: its own reset, or what ended the connection under it. */
  #reason(stream: ClientHttp2Stream): string {
    const code = stream.rstCode ?? 0;
    const connectionEnded = this.socket.destroyed || (this.#session?.destroyed ?? true);
    return connectionEnded && (code === constants.NGHTTP2_CANCEL || code === 0)
      ? this.code
      : (errorNames[code] ?? `H2_${code}`);
  }

  #giveUpWaiting(exchange: Exchange): void {
    if (!this.#waiting.delete(exchange)) return;
    exchange.fail(gaveUp(this.connected), this.options.now());
    if (this.#waiting.size > 0) return;
    this.socket.destroy();
    this.leave();
  }

  #closeIfDone(): void {
    if (!this.retiring || this.#open > 0 || this.#waiting.size > 0) return;
    if (this.#session) this.#session.close();
    else this.socket.destroy();
    this.leave();
  }

  protected finish(): void {
    for (const exchange of this.#waiting) this.lose(exchange, this.failure(0));
    this.#waiting.clear();
    this.leave();
  }
}

/** The error codes of RFC 9113, 7. */
const errorNames = [
  "H2_NO_ERROR",
  "H2_PROTOCOL_ERROR",
  "H2_INTERNAL_ERROR",
  "H2_FLOW_CONTROL_ERROR",
  "H2_SETTINGS_TIMEOUT",
  "H2_STREAM_CLOSED",
  "H2_FRAME_SIZE_ERROR",
  "H2_REFUSED_STREAM",
  "H2_CANCEL",
  "H2_COMPRESSION_ERROR",
  "H2_CONNECT_ERROR",
  "H2_ENHANCE_YOUR_CALM",
  "H2_INADEQUATE_SECURITY",
  "H2_HTTP_1_1_REQUIRED",
] as const;
