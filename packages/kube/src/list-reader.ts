const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const space = 0x20;
const listOpens = 0x5b;
const listCloses = 0x5d;
const objectOpens = 0x7b;
const objectCloses = 0x7d;

/** The API server keeps objects of 1.5 MiB, in a shorter spelling. An object without an end must not fill the memory. */
const longestBytes = 32 * 1024 * 1024;

/** A list holds something else than objects, or an object that does not end. */
export class MalformedList extends Error {}

/**
 * Parses the answer to a list as it arrives: object by object, so that the parts that are not kept can be freed. A page of 500 objects
 * may have 750 MB, since the API server bounds their number only.
 */
export class ListReader<T> {
  readonly items: T[] = [];
  readonly #keep: (text: string) => T | undefined;
  #rest = "";
  #parts: Buffer[] = [];
  #length = 0;
  #depth = 0;
  #isInList = false;
  #isInText = false;
  #isEscaped = false;

  /** @param keep gives what is kept of an object's text; undefined where nothing is kept. */
  constructor(keep: (text: string) => T | undefined) {
    this.#keep = keep;
  }

  /** The answer with an empty list. */
  get rest(): string {
    return this.#rest + Buffer.concat(this.#parts).toString("utf8");
  }

  /** @throws {MalformedList} */
  take(chunk: Buffer): void {
    let from = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] as number;
      if (this.#isEscaped) this.#isEscaped = false;
      else if (this.#isInText) {
        at = this.#passText(chunk, at);
      } else if (byte === objectOpens || byte === listOpens) {
        this.#depth++;
        // The only list at the top is that of the objects.
        if (this.#depth === 2 && byte === listOpens) {
          this.#part(chunk, from, at + 1);
          this.#rest += this.#whole();
          this.#isInList = true;
          from = at + 1;
        } else if (this.#isInList && this.#depth === 3) from = at;
      } else if (byte === objectCloses || byte === listCloses) {
        this.#depth--;
        if (this.#isInList && this.#depth === 2) {
          this.#part(chunk, from, at + 1);
          const kept = this.#keep(this.#whole());
          if (kept !== undefined) this.items.push(kept);
          from = at + 1;
        } else if (this.#isInList && this.#depth === 1) {
          this.#isInList = false;
          from = at;
        }
      } else if (this.#isInList && this.#depth === 2 && byte !== comma && byte > space)
        throw new MalformedList("a list of something else than objects");
      else if (byte === quote) this.#isInText = true;
    }
    if (!this.#isInList || this.#depth > 2) this.#part(chunk, from, chunk.length);
  }

  /** @returns where the text ends, or the chunk does. */
  #passText(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at];
      if (byte === quote) {
        this.#isInText = false;
        return at;
      }
      if (byte === backslash) {
        this.#isEscaped = true;
        return at;
      }
    }
    return chunk.length;
  }

  #part(chunk: Buffer, from: number, to: number): void {
    if (to <= from) return;
    this.#length += to - from;
    if (this.#length > longestBytes) throw new MalformedList("an object that does not end");
    this.#parts.push(chunk.subarray(from, to));
  }

  #whole(): string {
    const text = Buffer.concat(this.#parts, this.#length).toString("utf8");
    this.#parts = [];
    this.#length = 0;
    return text;
  }
}
