import { createHash, randomBytes } from "node:crypto";
import type { Socket } from "node:net";

import { LastingConnection, type ConnectionOptions } from "./connection.ts";
import type { Exchange, Failure } from "./exchange.ts";
import { gaveUp } from "./failures.ts";
import { tokenPlace } from "../request-form.ts";
import { clientFrame, closeCode, FrameReader, opcodes, type Frame } from "./websocket-frames.ts";

/** RFC 6455, 7.4.1: going away; IANA's registry: service restart. Both ask a client to connect to another server. */
const reconnectCodes: ReadonlySet<number> = new Set([1001, 1012]);
/** The end of a connection without a close frame. */
const abnormal = 1006;
/** How long the server may take to answer our close frame. */
const closeTimeoutMs = 1_000;
/** In a message, the answer to it is recognised by it whatever the server adds. */
const token = /lameduck-(\d+)/g;

/**
 * One WebSocket. A request is a message and the message that answers it with the same token; several may be under way. On a close with
 * "come back elsewhere" what was not answered is sent again there, as clients that wait for acknowledgements do; any other end loses it.
 */
export class WebSocketConnection extends LastingConnection {
  protected readonly socket: Socket;
  readonly #key = randomBytes(16).toString("base64");
  readonly #frames = new FrameReader();
  readonly #unanswered = new Map<string, Exchange>();
  #state: "connecting" | "upgrading" | "open" | "closing" | "gone" = "connecting";
  #head = Buffer.alloc(0);
  #closed: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ConnectionOptions & { readonly path: string }) {
    super(options);
    this.socket = this.open("http/1.1", {
      connected: () => {
        for (const { record } of this.#unanswered.values()) record.connected = this.connected;
      },
      ready: () => this.#upgrade(),
      read: (bytes, length) => this.#read(bytes, length),
    });
  }

  get reusable(): boolean {
    return !this.retiring && this.#state !== "closing" && this.#state !== "gone";
  }

  protected wait(exchange: Exchange): void {
    this.#unanswered.set(String(exchange.row), exchange);
    if (this.#state === "open") this.#write(exchange);
  }

  retire(): void {
    this.retiring = true;
    this.#closeIfDone();
  }

  #upgrade(): void {
    this.#state = "upgrading";
    this.get([
      ["Connection", "Upgrade"],
      ["Upgrade", "websocket"],
      ["Sec-WebSocket-Version", "13"],
      ["Sec-WebSocket-Key", this.#key],
    ]);
  }

  #write(exchange: Exchange): void {
    exchange.record.sent = this.options.now();
    const text = this.options.form.message.replaceAll(tokenPlace, `lameduck-${exchange.row}`);
    this.socket.write(clientFrame(opcodes.text, Buffer.from(text)));
  }

  #read(bytes: Buffer, length: number): void {
    this.received += length;
    // The buffer is read into again; what waits for its rest must not lie in it.
    const own = Buffer.from(bytes.subarray(0, length));
    if (this.#state === "upgrading") this.#readHead(own);
    else this.#take(own);
  }

  #readHead(bytes: Buffer): void {
    this.#head = Buffer.concat([this.#head, bytes]);
    const end = this.#head.indexOf("\r\n\r\n");
    if (end === -1) return;
    const head = this.#head.toString("latin1", 0, end);
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0);
    const accepted = /^sec-websocket-accept:\s*(\S+)\s*$/im.exec(head)?.[1];
    if (status !== 101 || accepted !== acceptOf(this.#key)) {
      this.#refused(status);
      return;
    }
    this.#state = "open";
    for (const exchange of this.#unanswered.values()) this.#write(exchange);
    this.#take(this.#head.subarray(end + 4));
    this.#head = Buffer.alloc(0);
    this.#closeIfDone();
  }

  #refused(status: number): void {
    this.#state = "closing";
    const errors = { serverError: "NO_UPGRADE", otherAnswer: "NOT_WEBSOCKET" };
    this.refused(this.#unanswered.values(), status, errors);
    this.#unanswered.clear();
    this.#end();
  }

  #take(bytes: Buffer): void {
    for (const frame of this.#frames.push(bytes)) this.#understand(frame);
  }

  #understand({ opcode, payload }: Frame): void {
    if (this.#state !== "open" && this.#state !== "closing") return;
    if (opcode === opcodes.ping) this.socket.write(clientFrame(opcodes.pong, payload));
    else if (opcode === opcodes.close) this.#closing(payload);
    else if (opcode === opcodes.text || opcode === opcodes.binary)
      for (const row of this.#answered(payload)) this.#answer(row, payload.length);
  }

  /** The messages that this one answers: those whose tokens it has, or, where the answer's text was given, the oldest. */
  #answered(payload: Buffer): string[] {
    const { answer } = this.options.form;
    if (answer === undefined)
      return [...payload.toString("latin1").matchAll(token)].map(([, row = ""]) => row);
    return payload.includes(answer) ? [...this.#unanswered.keys()].slice(0, 1) : [];
  }

  #answer(row: string, length: number): void {
    const exchange = this.#unanswered.get(row);
    if (!exchange) return;
    this.#unanswered.delete(row);
    exchange.record.received = length;
    const answer = { status: 101, body: length, text: "", reported: {} };
    this.answered(exchange, answer);
    this.#closeIfDone();
  }

  /** The server's close frame: the answer to ours, or its own wish. */
  #closing(payload: Buffer): void {
    if (this.#state === "open") {
      this.#closed = closeCode(payload);
      this.socket.write(clientFrame(opcodes.close, payload.subarray(0, 2)));
    }
    this.finish();
  }

  #closeIfDone(): void {
    if (!this.retiring || this.#unanswered.size > 0) return;
    if (this.#state === "open") {
      this.#state = "closing";
      this.socket.write(clientFrame(opcodes.close, Buffer.from([0x03, 0xe8])));
      this.#timer = setTimeout(() => this.#end(), closeTimeoutMs);
    } else if (this.#state !== "closing") this.#end();
  }

  protected giveUp(exchange: Exchange): void {
    if (!this.#unanswered.delete(String(exchange.row))) return;
    exchange.fail(gaveUp(this.connected), this.options.now());
    if (this.#state === "connecting" || this.#state === "upgrading") this.#end();
    else this.#closeIfDone();
  }

  /** Ended by the server, by a close frame or without one; what follows for the messages on it and for itself. */
  protected finish(): void {
    if (this.#state === "gone") return;
    const wasOpen = this.#state === "open";
    const code = this.#closed ?? abnormal;
    const orderly = wasOpen && reconnectCodes.has(code);
    const failure = this.#failureOf(wasOpen, code);
    const unanswered = [...this.#unanswered.values()];
    this.#unanswered.clear();
    this.#end();
    if (wasOpen) this.sessionEnded(orderly ? undefined : `WS_${code}`);
    for (const exchange of unanswered) {
      if (orderly) this.options.again(exchange);
      else this.lose(exchange, failure);
    }
  }

  #failureOf(wasOpen: boolean, code: number): Failure {
    const failure = this.failure(0);
    return wasOpen && this.#closed !== undefined ? { ...failure, error: `WS_${code}` } : failure;
  }

  #end(): void {
    if (this.#state === "gone") return;
    this.#state = "gone";
    clearTimeout(this.#timer);
    // Ends in order, so that the close frame on its way arrives.
    if (!this.socket.destroyed) this.socket.destroySoon();
    this.leave();
  }
}

/** RFC 6455, 4.2.2: what proves that the server has understood. */
function acceptOf(key: string): string {
  return createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
}
