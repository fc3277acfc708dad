import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
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
  const pages = ["README.md", "docs/*.md", "docs/quick-start/*.md", "packages/*/README.md"].flatMap(
    (pattern) => globSync(pattern, { cwd: root }),
  );
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
  /^[ \t]*(?:\$ )?(?:npx |source <\()?lameduck ((?:lab|rollout|simulate|advise|audit|init-binary|completion)\b.*)$/gm;

function exampleOf(from: string, line: string): Example {
  return { from: basename(from), line, words: wordsOf(line) };
}

/** What stands in a Markdown page as code: blocks that are fenced or set in by four spaces. */
function blocksOf(page: string): string {
  let fenced = false;
  return page
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
