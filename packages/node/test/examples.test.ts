/** Type-checks every example in TypeScript or JavaScript that the documentation has, in blocks and in running text. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Lameduck } from "../src/lameduck.ts";
import { documentedOptions } from "../src/options/option-names.ts";
import { fixture } from "./child.ts";

interface Example {
  /** The page and its line. */
  readonly place: string;
  readonly text: string;
}

const root = fileURLToPath(new URL("../../../", import.meta.url));
const pages = globSync(["README.md", "docs/**/*.md", "packages/*/README.md"], { cwd: root });

/** The languages of blocks that are checked. */
const language = /^(js|mjs|cjs|javascript|ts|mts|typescript)$/;
const methods = Object.getOwnPropertyNames(Lameduck.prototype).join("|");
const call = new RegExp(`^(const \\w+ = |await )?(duck\\.(${methods})\\b|lameduck(All|Primary)?\\().*[^.]$`);
const option = new RegExp(`^(${documentedOptions.join("|")}): \\S`);

function blocksOf(page: string, lines: readonly string[]): Example[] {
  const found: Example[] = [];
  let from: number | undefined;
  let kind = "";
  for (const [index, line] of lines.entries()) {
    const fence = /^```(\w*)/.exec(line);
    if (!fence) continue;
    if (from === undefined) [from, kind] = [index + 1, fence[1]!];
    else {
      const text = lines.slice(from, index).join("\n");
      if (language.test(kind)) found.push({ place: `${page}:${from}`, text });
      from = undefined;
    }
  }
  return found;
}

/** Calls of ours and single options, in text and tables; names of functions, signatures and what leaves something out ("...") are no examples. */
function spansOf(page: string, lines: readonly string[]): Example[] {
  return lines.flatMap((line, index) =>
    [...line.matchAll(/`([^`]+)`/g)].flatMap(([, span = ""]) => {
      const place = `${page}:${index + 1}`;
      if (/\.\.\.| \| |^lameduck\w*\(\)$/.test(span)) return [];
      if (option.test(span)) return [{ place, text: `lameduck(server, { ${span} });` }];
      return call.test(span) ? [{ place, text: `${span};` }] : [];
    }),
  );
}

const examples = pages.flatMap((page) => {
  const lines = readFileSync(join(root, page), "utf8").split("\n");
  return [...blocksOf(page, lines), ...spansOf(page, lines)];
});

test("every example of the documentation type-checks", (t) => {
  assert.ok(examples.length >= 30, `${examples.length}`);
  const cache = join(root, "node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  // Inside the project, where the packages are found by their names.
  const folder = mkdtempSync(join(cache, "examples-"));
  t.after(() => rmSync(folder, { recursive: true }));
  copyFileSync(fixture("examples.d.ts"), join(folder, "examples.d.ts"));
  for (const [index, { text }] of examples.entries())
    writeFileSync(join(folder, `${index}.mts`), `${text}\nexport {};\n`);
  const compilerOptions = {
    target: "esnext",
    module: "nodenext",
    lib: ["esnext"],
    types: ["node"],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*"] }));
  const tsc = join(root, "node_modules/.bin/tsc");
  const { stdout, status } = spawnSync(tsc, ["-p", folder, "--pretty", "false"], {
    cwd: folder,
    encoding: "utf8",
  });
  const story = stdout.replace(/^(\d+)\.mts\(\d+,\d+\)/gm, (_, index: string) => {
    const { place, text } = examples[Number(index)]!;
    return `${place}\n${text}\n`;
  });
  assert.equal(status, 0, story);
});
