import { request } from "node:http";
import type { Duplex } from "node:stream";
import { orAborted } from "@lameduck/drain/common";
import { LineReader, parseStreamAnswer, type StreamAnswer, streamProtocol } from "@lameduck/protocol";
import { bodyOf } from "./consumers/ask.ts";

export interface StreamOptions {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly authorization: string;
}

/** 100,000 withdrawals. */
const longestAnswer = 8 * 2 ** 20;
/** Bytes of the answer of who opens no stream. */
const longestRefusal = 16_384;

/** A connection to the coordinator on which reports and answers are lines. */
export class CoordinatorStream {
  readonly #socket: Duplex;
  readonly #reader = new LineReader(longestAnswer);
  readonly #waiting = new Set<(answer: StreamAnswer | undefined) => void>();

  private constructor(socket: Duplex, head: Buffer) {
    this.#socket = socket;
    socket
      .on("data", (chunk: Buffer) => this.#take(chunk))
      .on("error", () => socket.destroy())
      .on("end", () => socket.end())
      .on("close", () => this.#tell(undefined));
    if (head.length > 0) socket.unshift(head);
  }

  /** @returns the answer where there is no stream for it. @throws where the other side is not reached. */
  static open(options: StreamOptions, signal: AbortSignal): Promise<CoordinatorStream | StreamAnswer> {
    const { authorization, ...at } = options;
    const headers = { authorization, connection: "Upgrade", upgrade: streamProtocol };
    return new Promise((resolve, reject) => {
      const asked = request({ ...at, headers, agent: false, signal });
      asked
        .on("upgrade", (_response, socket, head) => resolve(new CoordinatorStream(socket, head)))
        .on("response", (response) => {
          bodyOf(response, longestRefusal)
            .then((text) => resolve({ status: response.statusCode ?? 0, text }), reject)
            .finally(() => asked.destroy());
        })
        .on("error", reject)
        .end();
    });
  }

  get isOver(): boolean {
    return this.#socket.destroyed || this.#socket.readableEnded;
  }

  /** The next answer: it is made for all reports before it. @returns undefined where the stream ends instead. */
  async ask(report: string, signal: AbortSignal): Promise<StreamAnswer | undefined> {
    const { promise, resolve } = Promise.withResolvers<StreamAnswer | undefined>();
    this.#waiting.add(resolve);
    this.#socket.write(`${report}\n`);
    try {
      return await orAborted(promise, signal);
    } finally {
      // An answer that is late would be taken for the next one's.
      if (signal.aborted) this.close();
    }
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    for (const line of this.#reader.take(chunk)) {
      const answer = line === undefined ? undefined : parseStreamAnswer(line);
      if (!answer) {
        this.close();
        return;
      }
      this.#tell(answer);
    }
  }

  #tell(answer: StreamAnswer | undefined): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve(answer);
  }
}
