/** The pages that people read: wrapped, without paragraphs in tables, without dead links. */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { pageWidth } from "../../../scripts/format-page.ts";
import { anchorOf } from "../../../site/pages.ts";

const root = join(import.meta.dirname, "..", "..", "..");
const pages = globSync(["*.md", "docs/**/*.md", "packages/*/README.md", "e2e/README.md"], {
  cwd: root,
}).sort();
const linesOf = (page: string): string[] => readFileSync(join(root, page), "utf8").split("\n");

/** A longer cell is a paragraph, which belongs below the table. */
const longestCell = 120;

/** Lines outside code, with their numbers. */
function prose(page: string): { readonly line: string; readonly place: string }[] {
  let fenced = false;
  return linesOf(page).flatMap((line, index) => {
    if (/^\s*```/.test(line)) fenced = !fenced;
    return fenced || line.startsWith("    ") ? [] : [{ line, place: `${page}:${index + 1}` }];
  });
}

const isTable = (line: string): boolean => /^\s*\|/.test(line);
/** A line of one word, such as a long address, cannot be wrapped. */
const canWrap = (line: string): boolean => /\S\s+\S/.test(line.replace(/^\s*(?:[-*]|\d+\.)\s+/, ""));

/** The names that GitHub gives to headings. */
const anchorsOf = (page: string): Set<string> =>
  new Set(
    linesOf(page)
      .filter((line) => /^#+ /.test(line))
      .map((line) => anchorOf(line.replace(/^#+ /, ""))),
  );

test("there are pages", () =>
  assert.ok(pages.includes("README.md") && pages.includes("docs/reference/library.md")));

test(`lines of pages wrap at ${pageWidth}`, () => {
  const long = pages
    .flatMap(prose)
    .filter(({ line }) => line.length > pageWidth && !isTable(line) && canWrap(line));
  assert.deepEqual(
    long.map(({ place }) => place),
    [],
  );
});

test("commands to copy begin with npx, as the pages install Lameduck into a folder", () => {
  const bare = pages
    .filter((page) => !page.startsWith("docs/reference/"))
    .flatMap((page) => linesOf(page).map((line, index) => ({ line, place: `${page}:${index + 1}` })))
    .filter(
      ({ line }) => /^(?:[$] |.* [|] )?lameduck [a-z]/.test(line) && !line.includes("lameduck completion"),
    );
  assert.deepEqual(
    bare.map(({ line, place }) => `${place}: ${line}`),
    [],
  );
});

test("no cell of a table holds a paragraph", () => {
  const cells = pages
    .flatMap(prose)
    .filter(({ line }) => isTable(line) && !/^\s*\|[\s|:-]+$/.test(line))
    .flatMap(({ line, place }) => line.split(/(?<!\\)\|/).map((cell) => ({ cell: cell.trim(), place })));
  assert.deepEqual(
    cells.filter(({ cell }) => cell.length > longestCell).map(({ place }) => place),
    [],
  );
});

test("pages that the code names exist", () => {
  const sources = globSync("packages/*/src/**/*.{ts,c,h}", { cwd: root });
  assert.ok(sources.includes("packages/cli/src/results.ts"));
  const named = sources.flatMap((file) =>
    [...readFileSync(join(root, file), "utf8").matchAll(/\bdocs\/[\w/-]+\.md/g)].map(([page]) => ({
      file,
      page,
    })),
  );
  assert.deepEqual(
    named.filter(({ page }) => !existsSync(join(root, page))),
    [],
  );
});

test("links between pages lead to files and headings that exist", () => {
  const dead = pages.flatMap((page) =>
    prose(page)
      .flatMap(({ line, place }) =>
        [...line.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => ({ link, place })),
      )
      .filter(({ link }) => !/^[a-z]+:/.test(link))
      .filter(({ link }) => {
        const [path = "", anchor] = link.split("#");
        const target = path === "" ? page : join(dirname(page), path);
        // A README of a package also stands beside the pages that are packed with it.
        const candidates = page.startsWith("packages/") ? [target, path] : [target];
        if (!candidates.some((one) => existsSync(join(root, one)))) return true;
        return anchor !== undefined && target.endsWith(".md") && !anchorsOf(target).has(anchor);
      })
      .map(({ link, place }) => `${place}: ${link}`),
  );
  assert.deepEqual(dead, []);
});

test("pictures say what they show, have a dark side, and stand still for who wants that", () => {
  const pictures = globSync("docs/**/*.svg", { cwd: root });
  assert.ok(pictures.length > 0);
  for (const picture of pictures) {
    const text = linesOf(picture).join("\n");
    assert.match(text, /<title>[^<]+<\/title>\s*<desc>[^<]+<\/desc>/, picture);
    assert.match(text, /prefers-color-scheme:dark/, picture);
    if (text.includes("animation:")) assert.match(text, /prefers-reduced-motion:reduce/, picture);
  }
  const silent = pages.flatMap(prose).filter(({ line }) => /!\[\s*\]\(/.test(line));
  assert.deepEqual(silent, []);
});
