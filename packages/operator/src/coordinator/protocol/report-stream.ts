import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Reply } from "./reply.ts";

/** Value of the Upgrade header. */
export const streamProtocol = "lameduck/1";

const accepted = `HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${streamProtocol}\r\n\r\n`;
/** Bytes that a consumer may leave unread. */
const mostUnread = 2 ** 20;
const lineFeed = 10;

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
  #rest: Buffer[] = [];
  #size = 0;
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
    const take = (chunk: Buffer): void => {
      let from = 0;
      for (
        let end = chunk.indexOf(lineFeed);
        end !== -1 && !this.isOver;
        end = chunk.indexOf(lineFeed, from)
      ) {
        const line = this.#joined(chunk.subarray(from, end));
        from = end + 1;
        if (line.length > longest) this.#tooLong(longest);
        else onLine(line.toString("utf8"));
      }
      if (this.isOver || from === chunk.length) return;
      // The chunk's memory may be much larger than what is left of it.
      const rest = Buffer.from(chunk.subarray(from));
      this.#rest.push(rest);
      this.#size += rest.length;
      if (this.#size > longest) this.#tooLong(longest);
    };
    if (head.length > 0) take(head);
    this.#socket.on("data", take).on("end", () => this.#socket.end());
  }

  answer(status: number, body: string, isLast: boolean): void {
    if (this.isOver) return;
    if (this.#socket.writableLength > mostUnread) this.#socket.destroy();
    else if (isLast) this.#socket.end(`${status} ${body}\n`);
    else this.#socket.write(`${status} ${body}\n`);
  }

  onClose(listener: () => void): void {
    this.#closed = listener;
  }

  /** The consumer goes on with a new connection. */
  end(): void {
    this.#socket.destroySoon();
  }

  #joined(last: Buffer): Buffer {
    if (this.#rest.length === 0) return last;
    const line = Buffer.concat([...this.#rest, last]);
    this.#rest = [];
    this.#size = 0;
    return line;
  }

  #tooLong(longest: number): void {
    this.answer(413, JSON.stringify({ version: 1, error: `more than ${longest} bytes` }), true);
    // Nothing more is read: the connection ends by its time-out at the latest.
    this.#socket.pause();
  }
}
