import type { ServerResponse } from "node:http";

/** Where an answer to a consumer goes: an HTTP response, or a line of its report stream. */
export interface Reply {
  readonly isOver: boolean;
  /** @param isLast the consumer asks on a new connection from then on. */
  answer(status: number, body: string, isLast: boolean): void;
  /** Called when the connection ends; the one that was given last. */
  onClose(listener: () => void): void;
}

export class HttpReply implements Reply {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  get isOver(): boolean {
    return this.#response.destroyed;
  }

  answer(status: number, body: string, isLast: boolean): void {
    this.#response.writeHead(status, [
      "content-type",
      "application/json",
      "content-length",
      String(Buffer.byteLength(body)),
      ...(isLast ? ["connection", "close"] : []),
    ]);
    this.#response.end(body);
  }

  onClose(listener: () => void): void {
    this.#response.once("close", listener);
  }
}
