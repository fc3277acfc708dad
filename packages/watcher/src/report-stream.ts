import { request } from "node:http";
import type { Duplex } from "node:stream";
import { orAborted } from "@lameduck/drain/common";
import { streamProtocol } from "@lameduck/protocol";

export interface CoordinatorReply {
  readonly status: number;
  readonly text: string;
}

export interface StreamOptions {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly authorization: string;
  /** Of an answer. */
  readonly mostBytes: number;
}

/** A connection to the coordinator on which reports and answers are lines. */
export class ReportStream {
  readonly #socket: Duplex;
  readonly #mostBytes: number;
  readonly #waiting = new Set<(reply: CoordinatorReply | undefined) => void>();
  #rest = "";

  private constructor(socket: Duplex, head: Buffer, mostBytes: number) {
    this.#socket = socket;
    this.#mostBytes = mostBytes;
    socket
      .setEncoding("utf8")
      .on("data", (text: string) => this.#take(text))
      .on("error", () => socket.destroy())
      .on("end", () => socket.end())
      .on("close", () => this.#reply(undefined));
    if (head.length > 0) socket.unshift(head.toString("utf8"), "utf8");
  }

  /** @returns undefined where the other side does not know streams. @throws where it is not reached. */
  static open(
    { mostBytes, authorization, ...at }: StreamOptions,
    signal: AbortSignal,
  ): Promise<ReportStream | undefined> {
    const headers = { authorization, connection: "Upgrade", upgrade: streamProtocol };
    return new Promise((resolve, reject) => {
      const asked = request({ ...at, headers, agent: false, signal });
      asked
        .on("upgrade", (_response, socket, head) => resolve(new ReportStream(socket, head, mostBytes)))
        .on("response", () => {
          asked.destroy();
          resolve(undefined);
        })
        .on("error", reject)
        .end();
    });
  }

  get isOver(): boolean {
    return this.#socket.destroyed || this.#socket.readableEnded;
  }

  /** The next answer: it is made for all reports before it. @returns undefined where the stream ends instead. */
  async ask(report: string, signal: AbortSignal): Promise<CoordinatorReply | undefined> {
    const { promise, resolve } = Promise.withResolvers<CoordinatorReply | undefined>();
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

  #take(text: string): void {
    this.#rest += text;
    // A long answer comes in hundreds of pieces, and none of them is searched twice.
    const lines = text.includes("\n") ? this.#rest.split("\n") : [this.#rest];
    this.#rest = lines.pop() ?? "";
    if (this.#rest.length > this.#mostBytes) this.close();
    for (const line of lines) {
      const [, status, body = ""] = /^(\d{3}) (.*)$/.exec(line) ?? [];
      if (status === undefined) this.close();
      else this.#reply({ status: Number(status), text: body });
    }
  }

  #reply(reply: CoordinatorReply | undefined): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve(reply);
  }
}
