import { createWriteStream } from "node:fs";
import { longestLineBytes, writeLine, type PodMessage } from "../transport/line.ts";
import { pack, type Numbered } from "../transport/pack.ts";

type Untimed<T> = T extends unknown ? Omit<T, "at"> : never;

/** Records in one line at first; what turns out too long is halved. */
const mostRecords = 400;

/** With more than that not yet written, the reader of the log is too slow for the load. */
const mostWaitingBytes = 32 * 1024 * 1024;

/** The pod's log: numbered lines. Not process.stdout, whose writes to a pipe stop the event loop while the reader is busy. */
export class Output {
  readonly #stream = createWriteStream("stdout", { fd: 1, autoClose: false });
  readonly #now: () => number;
  #sequence = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  get overflowing(): boolean {
    return this.#stream.writableLength > mostWaitingBytes;
  }

  say(message: Untimed<PodMessage>): void {
    this.#stream.write(writeLine(this.#sequence++, { ...message, at: this.#now() }));
  }

  records(route: number, records: readonly Numbered[]): void {
    for (let from = 0; from < records.length; from += mostRecords)
      this.#packed(route, records.slice(from, from + mostRecords));
  }

  /** Resolves when everything said so far has left the process. */
  async written(): Promise<void> {
    if (this.#stream.writableLength > 0) await new Promise((resolve) => this.#stream.write("", resolve));
  }

  #packed(route: number, records: readonly Numbered[]): void {
    const packed = pack(records);
    if (packed.length < longestLineBytes - 200 || records.length < 2) {
      this.say({ type: "records", route, packed });
      return;
    }
    const half = Math.ceil(records.length / 2);
    this.#packed(route, records.slice(0, half));
    this.#packed(route, records.slice(half));
  }
}
