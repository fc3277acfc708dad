import type { Writable } from "node:stream";

/** An application writes the rest of an event soon after its beginning; one that never does keeps nobody waiting for longer. */
const longestEvent = 1_000;
/** A line break, then an empty line. */
const lastBytes = 4;

/** Where the events of a `text/event-stream` end (HTML, 9.2.5): an application may write one in several parts. */
export class EventBoundary {
  /** When something was last written, on the clock of `now`; of the time before, the beginning of the watch is known. */
  writtenAt: number;
  #tail = "";
  #atBoundary: (() => void) | undefined;
  readonly #stream: Writable;
  readonly #write: Writable["write"];
  readonly #now: () => number;

  constructor(stream: Writable, now: () => number) {
    this.#stream = stream;
    this.#now = now;
    this.writtenAt = now();
    // oxlint-disable-next-line typescript/unbound-method -- it is called with the stream
    this.#write = stream.write;
    stream.write = this.#follow;
  }

  /** Calls `end` once no event is half written. @returns what takes that back. */
  whenBetweenEvents(end: () => void): () => void {
    if (this.#isBetween()) {
      end();
      return () => {};
    }
    const finish = (): void => {
      cancel();
      end();
    };
    const timer = setTimeout(finish, longestEvent);
    const cancel = (): void => {
      clearTimeout(timer);
      this.#atBoundary = undefined;
    };
    this.#atBoundary = finish;
    return cancel;
  }

  readonly #follow = ((...args: Parameters<Writable["write"]>): boolean => {
    const isTaken = Reflect.apply(this.#write, this.#stream, args);
    this.writtenAt = this.#now();
    const [chunk] = args as unknown[];
    const text = typeof chunk === "string" ? chunk.slice(-lastBytes) : latin1(chunk);
    this.#tail = (this.#tail + text).slice(-lastBytes);
    if (this.#isBetween()) this.#atBoundary?.();
    return isTaken;
  }) as Writable["write"];

  /** True also where nothing was written since the hold began: that is longer than any event takes. */
  #isBetween(): boolean {
    return this.#tail === "" || this.#tail.replaceAll(/\r\n?/g, "\n").endsWith("\n\n");
  }
}

function latin1(chunk: unknown): string {
  return chunk instanceof Uint8Array ? Buffer.from(chunk.slice(-lastBytes)).toString("latin1") : "";
}
