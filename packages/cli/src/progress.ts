import { clearLine, cursorTo } from "node:readline";

/** What goes on, on stderr: one line rewritten in place on a terminal, a line per change elsewhere. */
export class Progress {
  readonly #stream: NodeJS.WriteStream;
  #shown = false;
  #stage = "";

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.#stream = stream;
  }

  /** `stage` changes rarely, `figures` all the time: only the first is worth a line of a log. */
  update(stage: string, figures = ""): void {
    if (this.#stream.isTTY) {
      this.done();
      const text = figures ? `${stage}  ${figures}` : stage;
      this.#stream.write(text.slice(0, (this.#stream.columns ?? 80) - 1));
      this.#shown = true;
    } else if (stage !== this.#stage) this.#stream.write(`${stage}\n`);
    this.#stage = stage;
  }

  /** A line that stays. */
  say(text: string): void {
    this.done();
    this.#stream.write(`${text}\n`);
  }

  /** Takes the line away. */
  done(): void {
    if (!this.#shown) return;
    cursorTo(this.#stream, 0);
    clearLine(this.#stream, 0);
    this.#shown = false;
  }
}
