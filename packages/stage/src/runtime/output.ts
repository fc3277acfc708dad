import type { Readable } from "node:stream";

/** Lines kept of a program's output, for the message when it crashes. */
const keptLines = 20;
const longestLineChars = 16_384;

/** Splits a program's output into lines and remembers the last of them. */
export class Output {
  readonly #kept: string[] = [];
  readonly #onLine: (line: string) => void;

  constructor(onLine: (line: string) => void = () => undefined) {
    this.#onLine = onLine;
  }

  /** Lines of several streams do not mix. */
  read(stream: Readable): void {
    let rest = "";
    stream.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = (lines.pop() ?? "").slice(-longestLineChars);
      for (const line of lines) this.add(line);
    });
    // A program that gives up may leave out the last line feed.
    stream.on("end", () => {
      if (rest !== "") this.add(rest);
    });
  }

  /** The last lines, oldest first. */
  tail(): readonly string[] {
    return this.#kept;
  }

  add(line: string): void {
    if (line.trim() !== "") this.#kept.push(line);
    if (this.#kept.length > keptLines) this.#kept.shift();
    this.#onLine(line);
  }
}
