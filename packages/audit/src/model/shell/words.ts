import type { List, Piece, Word } from "./syntax.ts";

/** Deeper than any script that somebody wrote. */
export const deepest = 40;

/** The text is no syntax that is known here. */
export class Unreadable extends Error {}

const plainWord = /[^\s;&|()<>"'`$\\]+/y;

/** Goes through a script and reads its words: quotes, variables, substitutions, comments and joined lines. */
export abstract class Words {
  protected readonly text: string;
  protected at = 0;
  protected depth = 0;
  /** Here-documents that begin behind the next line break. */
  protected documents: { readonly end: string; readonly isIndented: boolean }[] = [];
  /** Where the last command ended. */
  endOfLast = 0;

  constructor(text: string) {
    this.text = text;
  }

  /** The commands of a substitution. */
  protected abstract list(): List;

  get isAtEnd(): boolean {
    return this.at >= this.text.length;
  }

  protected word(): Word {
    const pieces: Piece[] = [];
    const start = this.at;
    while (!this.isAtEnd) {
      const char = this.char;
      if ((char === "<" || char === ">") && this.text[this.at + 1] === "(") {
        this.at += 1;
        this.#substitution(pieces, this.at - 1);
      } else if (char === "(" && this.at > start && /[@?*+!=]/.test(this.text[this.at - 1]!))
        // A list of an array, or a pattern of bash.
        this.#substitution(pieces, this.at);
      else if (/[\s;&|()<>]/.test(char)) break;
      else this.piece(pieces, false);
    }
    if (this.at === start) throw new Unreadable();
    return pieces;
  }

  /** One piece, or several within double quotes. */
  protected piece(pieces: Piece[], isQuoted: boolean): void {
    const char = this.char;
    if (char === "\\") {
      const next = this.text[this.at + 1] ?? "";
      const isKept = isQuoted && !/[$`"\\\n]/.test(next);
      if (next !== "\n") add(pieces, isKept ? char + next : next);
      this.at += 2;
    } else if (char === "'" && !isQuoted) this.#single(pieces, 1);
    else if (char === '"' && !isQuoted) this.#double(pieces);
    else if (char === "`") {
      const start = this.at++;
      while (!this.isAtEnd && this.char !== "`") this.at += this.char === "\\" ? 2 : 1;
      this.expect("`");
      pieces.push({ kind: "opaque", text: this.text.slice(start + 1, this.at - 1) });
    } else if (char === "$") this.#dollar(pieces, isQuoted);
    else {
      plainWord.lastIndex = this.at;
      const [plain = char] = isQuoted ? [] : (plainWord.exec(this.text) ?? []);
      add(pieces, plain);
      this.at += plain.length;
    }
  }

  #single(pieces: Piece[], opening: number): void {
    const start = this.at + opening;
    const isEscaped = opening === 2;
    let end = start;
    while (end < this.text.length && this.text[end] !== "'")
      end += isEscaped && this.text[end] === "\\" ? 2 : 1;
    if (end >= this.text.length) throw new Unreadable();
    add(pieces, this.text.slice(start, end));
    this.at = end + 1;
  }

  #double(pieces: Piece[]): void {
    this.at += 1;
    add(pieces, "");
    while (this.char !== '"') {
      if (this.isAtEnd) throw new Unreadable();
      this.piece(pieces, true);
    }
    this.at += 1;
  }

  #dollar(pieces: Piece[], isQuoted: boolean): void {
    const next = this.text[this.at + 1] ?? "";
    const start = this.at;
    if (this.next("$((")) {
      this.at += 1;
      this.skipArithmetic();
      pieces.push({ kind: "opaque", text: "" });
    } else if (next === "(") {
      this.at += 1;
      this.#substitution(pieces, start);
    } else if (next === "{") this.#braced(pieces, isQuoted);
    else if (next === "'" && !isQuoted) this.#single(pieces, 2);
    else if (next === '"' && !isQuoted) {
      this.at += 1;
      this.#double(pieces);
    } else {
      const [name] = /^(?:[A-Za-z_]\w*|[\d@*#?$!-])/.exec(this.text.slice(this.at + 1, this.at + 200)) ?? [];
      if (name === undefined) add(pieces, "$");
      else pieces.push({ kind: "variable", name, isQuoted });
      this.at += 1 + (name?.length ?? 0);
    }
  }

  #braced(pieces: Piece[], isQuoted: boolean): void {
    if (++this.depth > deepest) throw new Unreadable();
    const start = this.at;
    const [opening, name = "", operator = ""] = /^\$\{(\w+|[@*])(:?-)?/.exec(
      this.text.slice(start, start + 200),
    ) ?? ["${"];
    this.at += opening.length;
    const inner: Piece[] = [];
    while (this.char !== "}") {
      if (this.isAtEnd) throw new Unreadable();
      if (this.char === '"') this.#double(inner);
      else if (/["'\\$`]/.test(this.char)) this.piece(inner, isQuoted);
      else {
        add(inner, this.char);
        this.at += 1;
      }
    }
    this.at += 1;
    this.depth -= 1;
    if (name === "" || (operator === "" && inner.length > 0))
      pieces.push({ kind: "opaque", text: this.text.slice(start, this.at) });
    else pieces.push({ kind: "variable", name, isQuoted, ...(operator === "" ? {} : { otherwise: inner }) });
  }

  /** From `(` on. */
  #substitution(pieces: Piece[], start: number): void {
    if (++this.depth > deepest) throw new Unreadable();
    const inner = ++this.at;
    const end = this.endOfLast;
    this.list();
    this.endOfLast = end;
    this.expect(")");
    this.depth -= 1;
    pieces.push({
      kind: "opaque",
      text: this.text[start] === "$" ? this.text.slice(inner, this.at - 1) : "",
    });
  }

  protected skipArithmetic(): void {
    let open = 0;
    do {
      if (this.isAtEnd) throw new Unreadable();
      if (this.char === "(") open += 1;
      if (this.char === ")") open -= 1;
      this.at += 1;
    } while (open > 0);
  }

  /** Blanks, comments and joined lines. */
  protected blanks(): void {
    for (;;) {
      const char = this.char;
      if (char === " " || char === "\t" || char === "\r") this.at += 1;
      else if (char === "\\" && this.text[this.at + 1] === "\n") this.at += 2;
      else if (char === "#" && !/[^\s;&|()]/.test(this.text[this.at - 1] ?? " ")) {
        const end = this.text.indexOf("\n", this.at);
        this.at = end === -1 ? this.text.length : end;
      } else return;
    }
  }

  /** Blanks and line breaks; here-documents begin behind the line break. */
  protected separators(): boolean {
    let isBroken = false;
    for (this.blanks(); this.char === "\n"; this.blanks()) {
      this.at += 1;
      isBroken = true;
      for (const { end, isIndented } of this.documents.splice(0)) this.#skipDocument(end, isIndented);
    }
    return isBroken;
  }

  #skipDocument(end: string, isIndented: boolean): void {
    while (!this.isAtEnd) {
      const close = this.text.indexOf("\n", this.at);
      const line = this.text.slice(this.at, close === -1 ? this.text.length : close);
      this.at = close === -1 ? this.text.length : close + 1;
      if ((isIndented ? line.replace(/^\t+/, "") : line) === end) return;
    }
  }

  protected get char(): string {
    return this.text[this.at] ?? "";
  }

  protected next(text: string): boolean {
    return this.text.startsWith(text, this.at);
  }

  /** The word that begins here, if nothing in it is quoted. */
  protected peekWord(): string {
    plainWord.lastIndex = this.at;
    const [word = ""] = plainWord.exec(this.text) ?? [];
    return /["'`$\\]/.test(this.text[this.at + word.length] ?? "") ? "" : word;
  }

  protected expect(text: string): void {
    if (!this.next(text)) throw new Unreadable();
    this.at += text.length;
  }

  protected expectWord(word: string): void {
    this.separators();
    if (this.peekWord() !== word) throw new Unreadable();
    this.at += word.length;
  }
}

function add(pieces: Piece[], text: string): void {
  const last = pieces.at(-1);
  if (last?.kind === "text") pieces[pieces.length - 1] = { kind: "text", text: last.text + text };
  else pieces.push({ kind: "text", text });
}

/** How many words a `for` goes through; undefined where only the shell knows, as of `{1..9}`, which dash does not expand. */
export function countOf(items: readonly Word[]): number | undefined {
  let count = 0;
  for (const [piece, ...more] of items) {
    if (piece === undefined || more.length > 0) return undefined;
    const seq = piece.kind === "opaque" ? /^\s*seq\s+(?:(\d{1,6})\s+)?(\d{1,6})\s*$/.exec(piece.text) : null;
    const [, from = "1", to] = seq ?? [];
    if (to !== undefined) count += Math.max(0, Number(to) - Number(from) + 1);
    else if (piece.kind === "text" && !/[*?[{]/.test(piece.text)) count += 1;
    else return undefined;
  }
  return count > 0 ? count : undefined;
}
