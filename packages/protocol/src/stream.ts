/** Value of the Upgrade header that asks for a report stream. */
export const streamProtocol = "lameduck/1";

/** The coordinator's answer to that request. From then on each side sends lines. */
export const streamAcceptance = `HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${streamProtocol}\r\n\r\n`;

/** What the coordinator says to one report, or to the request for a stream. */
export interface StreamAnswer {
  readonly status: number;
  /** JSON. */
  readonly text: string;
}

export function writeStreamAnswer({ status, text }: StreamAnswer): string {
  return `${status} ${text}\n`;
}

/** @returns undefined for what is no answer. */
export function parseStreamAnswer(line: string): StreamAnswer | undefined {
  const [, status, text = ""] = /^(\d{3}) (.*)$/.exec(line) ?? [];
  return status === undefined ? undefined : { status: Number(status), text };
}

const lineFeed = 10;
/** Pieces of one line that are kept apart. A long line comes in hundreds, and is not copied at each. */
const mostPieces = 64;

/** Makes lines of what comes on a connection, in whatever pieces. */
export class LineReader {
  readonly #mostBytes: number;
  #pieces: Buffer[] = [];
  #bytes = 0;

  /** @param mostBytes of one line. */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Each line that ends in the chunk; undefined for one that is too long, and then nothing more must be read. */
  *take(chunk: Buffer): Generator<string | undefined> {
    let from = 0;
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, from)) {
      const line = Buffer.concat([...this.#pieces, chunk.subarray(from, end)]);
      this.#pieces = [];
      this.#bytes = 0;
      from = end + 1;
      yield line.length > this.#mostBytes ? undefined : line.toString("utf8");
    }
    if (from === chunk.length) return;
    // The chunk's memory may be much larger than what is left of it.
    this.#pieces.push(Buffer.from(chunk.subarray(from)));
    this.#bytes += chunk.length - from;
    if (this.#pieces.length > mostPieces) this.#pieces = [Buffer.concat(this.#pieces)];
    if (this.#bytes > this.#mostBytes) yield undefined;
  }
}
