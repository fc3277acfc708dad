import xterm from "@xterm/headless";
import { Writable } from "node:stream";

/** What a person sees of a terminal, which wraps its lines anew when it becomes narrower. */
export class Screen {
  readonly #terminal: xterm.Terminal;

  constructor(columns: number, rows: number) {
    this.#terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true });
  }

  resize(columns: number, rows: number): void {
    this.#terminal.resize(columns, rows);
  }

  /** `done` is called when it is shown. */
  write(bytes: string | Uint8Array, done?: () => void): void {
    this.#terminal.write(bytes, done);
  }

  /** The lines that hold something, those above the screen included. */
  get lines(): string[] {
    const { active } = this.#terminal.buffer;
    return Array.from(
      { length: active.length },
      (_, i) => active.getLine(i)?.translateToString(true) ?? "",
    ).filter((line) => line !== "");
  }

  get cursor(): { readonly x: number; readonly y: number } {
    const { cursorX: x, cursorY: y, baseY } = this.#terminal.buffer.active;
    return { x, y: y + baseY };
  }
}

/** A terminal as `Progress` knows it, drawn on a screen. */
export class Terminal extends Writable {
  readonly isTTY = true;
  columns: number;
  rows: number;
  readonly screen: Screen;

  constructor(columns: number, rows: number) {
    super({ decodeStrings: false });
    [this.columns, this.rows] = [columns, rows];
    this.screen = new Screen(columns, rows);
  }

  /** As the terminal does it: first what it shows, then word of it. */
  resize(columns: number, rows: number): void {
    this.screen.resize(columns, rows);
    [this.columns, this.rows] = [columns, rows];
    this.emit("resize");
  }

  override _write(text: string, _encoding: string, done: () => void): void {
    // The terminal takes line feeds as its driver passes them on.
    this.screen.write(text.replaceAll("\n", "\r\n"), done);
  }

  /** Resolves when all that was written is shown. */
  async shown(): Promise<void> {
    while (this.writableLength > 0) await new Promise((done) => setImmediate(done));
  }
}
