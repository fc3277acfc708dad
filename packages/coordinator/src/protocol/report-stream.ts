import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { streamProtocol } from "@lameduck/protocol";
import type { Reply } from "./reply.ts";

const accepted = `HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${streamProtocol}\r\n\r\n`;
/** Bytes that a consumer may leave unread. */
const mostUnread = 2 ** 20;
/** Milliseconds that a consumer has to read the last answer, and to close. */
const lastRead = 2_000;
const lineFeed = 10;
const nothing = Buffer.alloc(0);

/** Whether a request asks for a report stream. All others with an Upgrade header are answered as if they had none. */
export function asksForStream({ method, headers }: IncomingMessage): boolean {
  return method === "GET" && headers.upgrade === streamProtocol;
}

/**
 * The reports of one consumer, a line each, and the answers to them on the same connection. A waiting HTTP request costs 14 KB more, and
 * there is one for each node.
 */
export class ReportStream implements Reply {
  readonly #socket: Socket;
  #closed: () => void = () => undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("close", () => this.#closed()).on("error", () => socket.destroy());
    socket.write(accepted);
  }

  get isOver(): boolean {
    return this.#socket.destroyed || this.#socket.writableEnded;
  }

  /** Calls back for each line. A longer one is answered with 413, and ends the stream. */
  read(head: Buffer, longest: number, onLine: (line: string) => void): void {
    let rest = nothing;
    const take = (chunk: Buffer): void => {
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      let from = 0;
      let end = bytes.indexOf(lineFeed, rest.length);
      for (; end !== -1 && !this.isOver; end = bytes.indexOf(lineFeed, from)) {
        if (end - from > longest) this.#tooLong(longest);
        else onLine(bytes.toString("utf8", from, end));
        from = end + 1;
      }
      if (this.isOver) return;
      // The chunk's memory may be much larger than what is left of it.
      rest = Buffer.from(bytes.subarray(from));
      if (rest.length > longest) this.#tooLong(longest);
    };
    if (head.length > 0) take(head);
    this.#socket.on("data", take).on("end", () => this.#socket.end());
  }

  answer(status: number, body: string, isLast: boolean): void {
    if (this.isOver) return;
    if (this.#socket.writableLength > mostUnread) this.#socket.destroy();
    else if (isLast) this.end(`${status} ${body}\n`);
    else this.#socket.write(`${status} ${body}\n`);
  }

  onClose(listener: () => void): void {
    this.#closed = listener;
  }

  /** The consumer goes on with a new connection. */
  end(last = ""): void {
    const socket = this.#socket;
    if (!this.isOver) socket.end(last);
    // What it has sent since is dropped. Unread, it would hide that the consumer has closed, too.
    socket.resume();
    setTimeout(() => socket.destroy(), lastRead).unref();
  }

  #tooLong(longest: number): void {
    this.answer(413, JSON.stringify({ version: 1, error: `more than ${longest} bytes` }), true);
  }
}
