import type { Chain, Command, List, Pipeline, Script, Simple, Word } from "./syntax.ts";
import { countOf, deepest, Unreadable, Words } from "./words.ts";

/** Linux starts no program that has a longer argument. */
const longestBytes = 131_072;

/** Reads the script of `sh -c`, as POSIX and bash know it. It never throws, and takes time in proportion to the length. */
export function readScript(text: string): Script {
  if (text.length >= longestBytes) return { list: [], isWhole: false, trailing: "" };
  const reader = new Reader(text);
  const list: Chain[] = [];
  try {
    reader.listInto(list);
    if (!reader.isAtEnd) throw new Unreadable();
    return { list, isWhole: true, trailing: text.slice(reader.endOfLast) };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { list, isWhole: false, trailing: "" };
  }
}

const closing = new Set(["then", "elif", "else", "fi", "do", "done", "esac", "}"]);
const redirection = /(?:\d+|\{\w+\})?(?:<<<|<<-?|<>|<&|<(?!\()|>>|>&|>\||>(?!\()|&>>?)/y;
const assignment = /^([A-Za-z_]\w*)\+?=/;

class Reader extends Words {
  listInto(chains: Chain[]): void {
    for (;;) {
      const startsLine = this.separators();
      if (
        this.isAtEnd ||
        this.next(")") ||
        this.next(";;") ||
        this.next(";&") ||
        closing.has(this.peekWord())
      )
        return;
      const pipelines = this.#chain();
      this.endOfLast = this.at;
      this.blanks();
      const isBackground = this.next("&");
      if (isBackground || (this.next(";") && !this.next(";;") && !this.next(";&"))) this.at += 1;
      else if (!this.isAtEnd && !/[\n);]/.test(this.char)) throw new Unreadable();
      chains.push({ pipelines, isBackground, startsLine });
    }
  }

  protected list(): List {
    const chains: Chain[] = [];
    this.listInto(chains);
    return chains;
  }

  #chain(): Pipeline[] {
    const pipelines = [this.#pipeline(undefined)];
    for (;;) {
      this.blanks();
      const after = this.next("&&") ? "&&" : this.next("||") ? "||" : undefined;
      if (after === undefined) return pipelines;
      this.at += 2;
      this.separators();
      pipelines.push(this.#pipeline(after));
    }
  }

  #pipeline(after: Pipeline["after"]): Pipeline {
    this.blanks();
    let isPrefixed = false;
    while (this.peekWord() === "!" || this.peekWord() === "time") {
      isPrefixed = true;
      this.at += this.peekWord().length;
      this.blanks();
      if (this.peekWord() === "-p") this.at += 2;
      this.blanks();
    }
    const commands = [this.#command()];
    for (;;) {
      this.blanks();
      if (!this.next("|") || this.next("||")) return { commands, isPrefixed, after };
      this.at += this.next("|&") ? 2 : 1;
      this.separators();
      commands.push(this.#command());
    }
  }

  #command(): Command {
    if (++this.depth > deepest) throw new Unreadable();
    this.blanks();
    const command = this.#compound() ?? this.#simple();
    this.depth -= 1;
    return command;
  }

  #compound(): Command | undefined {
    if (this.next("((")) {
      this.skipArithmetic();
      return this.#redirected({ kind: "test" });
    }
    if (this.next("(")) {
      this.at += 1;
      const body = this.list();
      this.expect(")");
      return this.#redirected({ kind: "group", body, isSubshell: true });
    }
    const word = this.peekWord();
    const body = compounds[word];
    if (body === undefined) return undefined;
    this.at += word.length;
    return this.#redirected(this[body](word));
  }

  braces(): Command {
    const body = this.list();
    this.expectWord("}");
    return { kind: "group", body, isSubshell: false };
  }

  branches(): Command {
    const tests = [this.list()];
    this.expectWord("then");
    const bodies = [this.list()];
    while (this.peekWord() === "elif") {
      this.at += 4;
      tests.push(this.list());
      this.expectWord("then");
      bodies.push(this.list());
    }
    const isTotal = this.peekWord() === "else";
    if (isTotal) {
      this.at += 4;
      bodies.push(this.list());
    }
    this.expectWord("fi");
    return { kind: "if", tests, bodies, isTotal };
  }

  loop(word: string): Command {
    let test: List = [];
    const items: Word[] = [];
    if (word === "while" || word === "until") test = this.list();
    else {
      this.blanks();
      if (this.next("((")) this.skipArithmetic();
      else this.word();
      this.separators();
      if (this.peekWord() === "in") {
        this.at += 2;
        for (this.blanks(); !this.isAtEnd && !/[\n;]/.test(this.char); this.blanks()) items.push(this.word());
      }
      if (this.next(";")) this.at += 1;
      this.separators();
    }
    this.expectWord("do");
    const start = this.at;
    const body = this.list();
    this.expectWord("done");
    const isWhole = !/\b(?:break|continue|exit|return)\b/.test(this.text.slice(start, this.at));
    return { kind: "loop", test, body, times: isWhole && word === "for" ? countOf(items) : undefined };
  }

  cases(): Command {
    this.blanks();
    this.word();
    this.separators();
    this.expectWord("in");
    const bodies: List[] = [];
    let isTotal = false;
    for (;;) {
      this.separators();
      if (this.peekWord() === "esac") break;
      if (this.next("(")) this.at += 1;
      for (;;) {
        this.blanks();
        const pattern = this.word();
        isTotal ||= pattern.length === 1 && pattern[0]!.kind === "text" && pattern[0]!.text === "*";
        this.blanks();
        if (!this.next("|")) break;
        this.at += 1;
      }
      this.expect(")");
      bodies.push(this.list());
      if (this.next(";;&")) this.at += 3;
      else if (this.next(";;") || this.next(";&")) this.at += 2;
    }
    this.at += 4;
    return { kind: "case", bodies, isTotal };
  }

  named(): Command {
    this.blanks();
    const name = this.peekWord();
    if (name === "") throw new Unreadable();
    this.at += name.length;
    this.blanks();
    if (this.next("(")) {
      this.at += 1;
      this.blanks();
      this.expect(")");
    }
    this.separators();
    return { kind: "function", name, body: this.#command() };
  }

  conditional(): Command {
    for (; !this.isAtEnd; this.at += 1) {
      // `]]` ends it as a word of its own: it can stand in a pattern.
      if (this.next("]]") && /\s/.test(this.text[this.at - 1]!)) {
        this.at += 2;
        return { kind: "test" };
      }
      if (/["'\\$`]/.test(this.char)) {
        this.piece([], false);
        this.at -= 1;
      }
    }
    throw new Unreadable();
  }

  #redirected<T extends Command>(command: T): T {
    for (this.blanks(); this.redirect(); this.blanks());
    return command;
  }

  #simple(): Command {
    const words: Word[] = [];
    const assignments: Simple["assignments"][number][] = [];
    let isRedirected = false;
    for (;;) {
      this.blanks();
      if (this.redirect()) {
        isRedirected = true;
        continue;
      }
      if (this.isAtEnd || (/[\s;&|()]/.test(this.char) && !(this.next("(") && words.length === 1))) break;
      if (this.next("(")) {
        const [piece] = words[0]!;
        if (words[0]!.length !== 1 || piece?.kind !== "text") throw new Unreadable();
        this.at += 1;
        this.blanks();
        this.expect(")");
        this.separators();
        return { kind: "function", name: piece.text, body: this.#command() };
      }
      const start = this.at;
      const word = this.word();
      const name = words.length > 0 ? undefined : assignment.exec(this.text.slice(start, start + 200));
      if (name) assignments.push({ name: name[1]!, value: withoutStart(word, name[0].length) });
      else words.push(word);
    }
    if (words.length === 0 && assignments.length === 0 && !isRedirected) throw new Unreadable();
    return { kind: "simple", assignments, words, isRedirected };
  }

  redirect(): boolean {
    redirection.lastIndex = this.at;
    const [operator] = redirection.exec(this.text) ?? [];
    if (operator === undefined) return false;
    this.at += operator.length;
    this.blanks();
    const start = this.at;
    this.word();
    if (/<<-?$/.test(operator) && !operator.endsWith("<<<")) {
      const end = this.text.slice(start, this.at).replace(/["'\\]/g, "");
      this.documents.push({ end, isIndented: operator.endsWith("-") });
    }
    return true;
  }
}

const compounds: Readonly<
  Record<string, "braces" | "branches" | "loop" | "cases" | "named" | "conditional" | undefined>
> = Object.assign(
  Object.create(null) as object,
  {
    "{": "braces",
    if: "branches",
    while: "loop",
    until: "loop",
    for: "loop",
    select: "loop",
    case: "cases",
    function: "named",
    "[[": "conditional",
  } as const,
);

/** The value of an assignment: its name and `=` are plain text. */
function withoutStart(word: Word, length: number): Word {
  const [first, ...rest] = word;
  if (first?.kind !== "text") return word;
  return [{ kind: "text", text: first.text.slice(length) }, ...rest];
}
