import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import {
  LineReader,
  streamAcceptance,
  streamProtocol,
  writeRefusal,
  writeStreamAnswer,
} from "@lameduck/protocol";

/** Bytes that a consumer may leave unread. */
const mostUnread = 2 ** 20;
/** Bytes: reports take a few hundred. */
const longestReport = 32_768;
/** What a consumer has to read the last answer, and to close. */
const lastReadMs = 2_000;

/** Whether a request asks for a report stream. All others with an Upgrade header are answered as if they had none. */
export function asksForStream({ method, headers }: IncomingMessage): boolean {
  return method === "GET" && headers.upgrade === streamProtocol;
}

/** The reports of one consumer, a line each, and the answers to them on the same connection. */
export class ReportStream {
  readonly #socket: Socket;
  #closed: () => void = () => undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("close", () => this.#closed()).on("error", () => socket.destroy());
    socket.write(streamAcceptance);
  }

  get isOver(): boolean {
    return this.#socket.destroyed || this.#socket.writableEnded;
  }

  /** Calls back for each line. A longer one is answered with 413, and ends the stream. */
  read(head: Buffer, onLine: (line: string) => void): void {
    const reader = new LineReader(longestReport);
    const take = (chunk: Buffer): void => {
      for (const line of reader.take(chunk)) {
        if (this.isOver) return;
        if (line === undefined) this.answer(413, writeRefusal(`more than ${longestReport} bytes`), true);
        else onLine(line);
      }
    };
    if (head.length > 0) take(head);
    this.#socket.on("data", take).on("end", () => this.#socket.end());
  }

  /** @param isLast the consumer asks on a new connection from then on. */
  answer(status: number, text: string, isLast: boolean): void {
    if (this.isOver) return;
    const line = writeStreamAnswer({ status, text });
    if (this.#socket.writableLength > mostUnread) this.#socket.destroy();
    else if (isLast) this.end(line);
    else this.#socket.write(line);
  }

  /** The listener that was given last is called when the connection ends. */
  onClose(listener: () => void): void {
    this.#closed = listener;
  }

  /** The consumer goes on with a new connection. */
  end(last = ""): void {
    const socket = this.#socket;
    if (!this.isOver) socket.end(last);
    // What it has sent since is dropped. Unread, it would hide that the consumer has closed, too.
    socket.resume();
    setTimeout(() => socket.destroy(), lastReadMs).unref();
  }
}
