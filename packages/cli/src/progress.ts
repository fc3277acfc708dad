import { clearLine, cursorTo, moveCursor, clearScreenDown } from "node:readline";

/** The lines to show on a terminal of that size. */
type Draw = (size: { readonly columns: number; readonly rows: number }) => readonly string[];

/** What goes on, on stderr: lines rewritten in place on a terminal, a line per change elsewhere. */
export class Progress {
  readonly #stream: NodeJS.WriteStream;
  #shown = false;
  #stage = "";
  #draw: Draw | undefined;
  #drawn: readonly string[] = [];

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

  /** Several lines, which are drawn anew when the terminal's size changes; only where `isWatched`. */
  show(draw: Draw): void {
    if (!this.#draw) {
      this.#stream.on("resize", this.#redraw);
      // However the process ends, what it leaves on the terminal are results.
      process.on("exit", this.#ended);
    }
    this.#draw = draw;
    this.#redraw();
  }

  /** A line that stays. */
  say(text: string): void {
    this.#erase();
    this.#stream.write(`${text}\n`);
    this.#redraw();
  }

  /** Takes the lines away. */
  done(): void {
    this.#erase();
    if (!this.#draw) return;
    this.#draw = undefined;
    this.#stream.off("resize", this.#redraw);
    process.off("exit", this.#ended);
  }

  readonly #redraw = (): void => {
    if (!this.#draw) return;
    // One write, so that the terminal never shows half of it.
    this.#stream.cork();
    this.#erase();
    this.#drawn = this.#draw(sizeOf(this.#stream));
    this.#stream.write(this.#drawn.map((line) => `${line}\n`).join(""));
    this.#stream.uncork();
  };

  readonly #ended = (): void => this.done();

  #erase(): void {
    if (this.#drawn.length > 0) {
      // A terminal that has become narrower wraps what stands in it.
      const { columns } = sizeOf(this.#stream);
      const rows = this.#drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / columns)), 0);
      cursorTo(this.#stream, 0);
      moveCursor(this.#stream, 0, -rows);
      clearScreenDown(this.#stream);
      this.#drawn = [];
    }
    if (!this.#shown) return;
    cursorTo(this.#stream, 0);
    clearLine(this.#stream, 0);
    this.#shown = false;
  }
}

/** Terminals without a size say 0. */
function sizeOf({ columns, rows }: NodeJS.WriteStream): Pick<NodeJS.WriteStream, "columns" | "rows"> {
  return { columns: columns || 80, rows: rows || 24 };
}
