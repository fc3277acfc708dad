const newline = 0x0a;

/** Takes a stream apart into its lines. A long one comes in many chunks, and is put together once. */
export class LineReader {
  readonly #longestBytes: number;
  #parts: Buffer[] = [];
  #length = 0;

  /** @param longestBytes the bound of a line. */
  constructor(longestBytes: number) {
    this.#longestBytes = longestBytes;
  }

  /** The lines that end in this chunk; undefined where a line is too long. */
  take(chunk: Buffer): string[] | undefined {
    const lines: string[] = [];
    let from = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      lines.push(Buffer.concat([...this.#parts, chunk.subarray(from, end)]).toString("utf8"));
      this.#parts = [];
      this.#length = 0;
      from = end + 1;
    }
    this.#length += chunk.length - from;
    if (from < chunk.length) this.#parts.push(chunk.subarray(from));
    return this.#length > this.#longestBytes ? undefined : lines;
  }
}
