import type { ClientHttp2Stream, IncomingHttpHeaders } from "node:http2";

import { claimIn, type Answer, type Reported } from "../answer.ts";

/** What comes back on one HTTP/2 stream. */
export class Call implements Answer {
  /** Headers of the request, beside those that every request has. */
  readonly headers: Readonly<Record<string, string>> = { accept: "*/*" };
  /** Body of the request. */
  readonly message: Buffer | undefined = undefined;
  status = 0;
  body = 0;
  text = "";
  readonly reported: Reported = {};
  grpcStatus?: number;
  /** Bytes of the answer, its head counted as one: headers have no length once they are unpacked. */
  received = 0;
  readonly #wanted: number;
  #ended = false;

  constructor(wanted: number) {
    this.#wanted = wanted;
  }

  /** The server has ended the stream. */
  get complete(): boolean {
    return this.#ended && this.status > 0;
  }

  /** Complete, and yet no answer of this protocol: why. */
  get wrong(): string | undefined {
    return undefined;
  }

  follow(stream: ClientHttp2Stream): void {
    stream.on("response", (headers) => this.began(headers));
    stream.on("data", (bytes: Buffer) => this.came(bytes));
    stream.on("end", () => {
      this.#ended = !stream.aborted;
    });
  }

  protected began(headers: IncomingHttpHeaders & { readonly ":status"?: number | undefined }): void {
    this.received++;
    this.status = headers[":status"] ?? 0;
    const pod = headers["x-lameduck-pod"];
    if (typeof pod === "string") this.reported.pod = pod;
    const claim = claimIn((name) => headers[name]);
    if (claim !== undefined) this.reported.claim = claim;
  }

  protected came(bytes: Buffer): void {
    this.received += bytes.length;
    this.body += bytes.length;
    const wanted = this.#wanted - this.text.length;
    if (wanted > 0) this.text += bytes.toString("latin1", 0, wanted);
  }
}
