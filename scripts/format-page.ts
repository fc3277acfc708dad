import { format, resolveConfig, type Options } from "prettier";

/** Lines of pages are at most this long, tables and code aside. `packages/cli/test/pages.test.ts` checks it. */
export const pageWidth = 120;

/** A page of Markdown as a script writes it: formatted as the repository's checks want it, its paragraphs wrapped. */
export async function formatPage(text: string, options: Options = {}): Promise<string> {
  return format(text, {
    ...(await resolveConfig(import.meta.filename)),
    parser: "markdown",
    printWidth: pageWidth,
    proseWrap: "always",
    ...options,
  });
}
