/** Lines kept of a container's output, for the message when it crashes. */
const keptLines = 20;
const longestLine = 16_384;

/** Splits a container's output into lines and remembers the last of them. */
export class Output {
  readonly #kept: string[] = [];
  readonly #onLine: (line: string) => void;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  /** A reader for one stream; lines of several streams do not mix. */
  reader(): (data: Buffer) => void {
    let rest = "";
    return (data) => {
      const lines = (rest + data.toString()).split("\n");
      rest = (lines.pop() ?? "").slice(-longestLine);
      for (const line of lines) this.#line(line);
    };
  }

  /** The last lines, oldest first. */
  tail(): readonly string[] {
    return this.#kept;
  }

  #line(line: string): void {
    if (line.trim() !== "") this.#kept.push(line);
    if (this.#kept.length > keptLines) this.#kept.shift();
    this.#onLine(line);
  }
}
