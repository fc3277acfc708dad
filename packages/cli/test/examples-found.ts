import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "./running.ts";

const root = join(import.meta.dirname, "..", "..", "..");

/** A command line that a reader is shown, as words, and where. */
export interface Example {
  readonly from: string;
  readonly line: string;
  readonly words: readonly string[];
}

/** Of README, docs and the help of each command; the same line once. */
export async function examples(commands: readonly string[]): Promise<Example[]> {
  const pages = globSync(["README.md", "docs/**/*.md", "packages/*/README.md"], { cwd: root });
  const texts = pages.map((page) => ({ from: page, text: blocksOf(readFileSync(join(root, page), "utf8")) }));
  for (const command of commands)
    texts.push({ from: `${command} --help`, text: (await run([command, "--help"])).out });
  const found = texts.flatMap(({ from, text }) =>
    [...text.matchAll(shown)].map(([, line = ""]) => exampleOf(from, line)),
  );
  return [...new Map(found.map((example) => [example.words.join(" "), example])).values()];
}

/** "npx lameduck lab ...", "$ lameduck lab ...", also in a substitution or before a pipe. */
const shown =
  /^[ \t]*(?:\$ )?(?:npx |source <\()?lameduck ((?:lab|rollout|simulate|audit|init-binary|completion)\b.*)$/gm;

function exampleOf(from: string, line: string): Example {
  return { from, line, words: wordsOf(line) };
}

/** What stands in a Markdown page as code: blocks that are fenced or set in by four spaces. */
function blocksOf(page: string): string {
  let fenced = false;
  return page
    .replaceAll(/ \\\n\s*/g, " ")
    .split("\n")
    .filter((line) => {
      if (!line.startsWith("```")) return fenced || line.startsWith("    ");
      fenced = !fenced;
      return false;
    })
    .join("\n");
}

/** As a shell takes them: quotes, and nothing behind a comment, a pipe or the end of a substitution. */
function wordsOf(line: string): string[] {
  const words: string[] = [];
  for (const [, single, double, bare] of line.matchAll(/'([^']*)'|"([^"]*)"|([^\s'"]+)/g)) {
    if (bare !== undefined && /^[#|&)]/.test(bare)) break;
    words.push(single ?? double ?? bare?.replace(/\)$/, "") ?? "");
    if (bare?.endsWith(")")) break;
  }
  return words;
}

/** Commands that a page shows, in their order: those of one block of code, or one within a sentence. */
export type Shown = readonly string[];

/** What starts a program with two words at least: shorter ones name a command and do not give it. */
const withinSentence = /^(?:npx lameduck|lameduck|lameduck-init|npm|node|git|kubectl|docker|helm|pip) \S+ \S/;
/** Fences whose lines are commands. In others a command has a prompt before it. */
const shells = ["sh", "bash", "shell", "console"];

/** Every command that a page shows, without comments. */
export function commandsOn(page: string): Shown[] {
  const all: string[][] = [];
  let block: string[] | undefined;
  let fence: string | undefined;
  const add = (text: string): void => {
    const line = text.replace(/(?:^|\s+)#(?=\s).*$/, "").trim();
    if (line === "") return;
    if (block === undefined) all.push([line]);
    else if (block.push(line) === 1) all.push(block);
  };
  for (const text of page.replaceAll(/ \\\n\s*/g, " ").split("\n")) {
    const [, opened] = /^\s*```(\w*)/.exec(text) ?? [];
    if (opened !== undefined) {
      fence = fence === undefined ? opened : undefined;
      block = fence === undefined ? undefined : [];
    } else if (fence !== undefined) {
      const [, prompted] = /^\s*\$ (.*)$/.exec(text) ?? [];
      if (prompted !== undefined || shells.includes(fence)) add(prompted ?? text);
    } else if (/^ {4}\S/.test(text)) {
      block ??= [];
      add(text);
    } else {
      block = undefined;
      for (const [, code = ""] of text.matchAll(/`([^`]+)`/g)) if (withinSentence.test(code)) add(code);
    }
  }
  return all;
}
