import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { format, resolveConfig } from "prettier";

/** Lines of pages are at most this long, tables and code aside. `packages/cli/test/pages.test.ts` checks it. */
export const pageWidth = 120;

const anyPage = join(import.meta.dirname, "..", "README.md");

/** A page of Markdown as a script writes it, formatted as the repository's checks want every page. */
export async function formatPage(text: string): Promise<string> {
  return format(text, { ...(await resolveConfig(anyPage)), parser: "markdown" });
}

/** Writes a file that a script makes. With --check it only compares; where they differ it says so, and the script exits with 1. */
export function writeMade(file: string | URL, text: string, ifDifferent: string): void {
  if (!process.argv.includes("--check")) writeFileSync(file, text);
  else if (readFileSync(file, "utf8") !== text) {
    console.error(ifDifferent);
    process.exitCode = 1;
  }
}
