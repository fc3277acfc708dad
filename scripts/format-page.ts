import { readFileSync, writeFileSync } from "node:fs";
import { format, type Oxfmtrc } from "oxfmt";

/** Lines of pages are at most this long, tables and code aside. `packages/cli/test/pages.test.ts` checks it. */
export const pageWidth = 120;

const {
  ignorePatterns: _,
  overrides = [],
  ...all
} = JSON.parse(readFileSync(new URL("../.oxfmtrc.json", import.meta.url), "utf8")) as Oxfmtrc;

/** A page of Markdown as a script writes it, formatted as the repository's checks want every page. */
export async function formatPage(text: string): Promise<string> {
  const { code } = await format("page.md", text, { ...all, ...overrides[0]?.options });
  return code;
}

/** The same of JSON. */
export async function formatJson(value: unknown): Promise<string> {
  const { code } = await format("value.json", JSON.stringify(value), all);
  return code;
}

/** A table in Markdown. @param rule what stands below each head, where it says how a column is aligned */
export function markdownTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  rule: readonly string[] = head.map(() => "---"),
): string {
  return [head, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

/** The page with another text between its marks `<!-- NAME: how it is written -->` and `<!-- end of NAME -->`. */
export async function pageWithin(page: string, name: string, text: string): Promise<string> {
  const marks = new RegExp(`(<!-- ${name}(?:: .*)? -->\\n)[^]*?(<!-- end of ${name} -->)`);
  if (!marks.test(page))
    throw new Error(`the page lacks its marks <!-- ${name} --> and <!-- end of ${name} -->`);
  return formatPage(page.replace(marks, (_, from: string, to: string) => `${from}\n${text.trim()}\n\n${to}`));
}

/** Writes a file that a script makes. With --check it only compares; where they differ it says so, and the script exits with 1. */
export function writeMade(file: string | URL, text: string, ifDifferent: string): void {
  if (!process.argv.includes("--check")) writeFileSync(file, text);
  else if (readFileSync(file, "utf8") !== text) {
    console.error(ifDifferent);
    process.exitCode = 1;
  }
}
