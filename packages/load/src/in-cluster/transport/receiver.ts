import { readLine, type PodMessage } from "./line.ts";

/** Takes the log of one pod, in whatever pieces and however often: each message is given out once and in order. */
export class Receiver {
  readonly #take: (message: PodMessage) => void;
  readonly #waiting = new Map<number, PodMessage>();
  #next = 0;
  #latest: number | undefined;
  #rest = "";
  /** Lines that will not come any more: the log was rotated while it could not be read. */
  skipped = 0;

  constructor(take: (message: PodMessage) => void) {
    this.#take = take;
  }

  /** A part of the log. */
  push(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#line(line);
  }

  /** The stream was cut: half a line is of no use, it will come again. */
  cut(): void {
    this.#rest = "";
  }

  /** When the last line that came in order was written, by the pod's clock. */
  get latest(): number | undefined {
    return this.#latest;
  }

  /** Later lines have come, and one before them has not. */
  get gap(): boolean {
    return this.#waiting.size > 0;
  }

  /** Goes on behind a gap that a whole log did not fill. */
  skip(): void {
    const after = Math.min(...this.#waiting.keys());
    if (after === Infinity) return;
    this.skipped += after - this.#next;
    this.#next = after;
    this.#release();
  }

  #line(line: string): void {
    const read = readLine(line);
    if (!read || read.sequence < this.#next) return;
    this.#waiting.set(read.sequence, read.message);
    this.#release();
  }

  #release(): void {
    for (let message = this.#waiting.get(this.#next); message; message = this.#waiting.get(this.#next)) {
      this.#waiting.delete(this.#next++);
      this.#latest = message.at;
      this.#take(message);
    }
  }
}
