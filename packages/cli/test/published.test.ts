/** What is published is described alike everywhere, and the instructions for it name commands that exist. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";

const root = join(import.meta.dirname, "..", "..", "..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");

interface Manifest {
  readonly name: string;
  readonly private?: boolean;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
}
const manifest = (file: string): Manifest => JSON.parse(read(file)) as Manifest;

test("three packages are published, and depend on nothing that is not", () => {
  const all = globSync("packages/*/package.json", { cwd: root }).map(manifest);
  const published = all.filter((one) => one.private !== true);
  const names = published.map(({ name }) => name).sort();
  assert.deepEqual(names, ["@lameduck/init", "@lameduck/node", "lameduck"]);
  for (const { name, dependencies = {} } of published)
    for (const one of Object.keys(dependencies).filter((used) => used.startsWith("@lameduck/")))
      assert.ok(names.includes(one), `${name} depends on ${one}`);
});

test("npm test with a word that is in no path says so, and does not pass", () => {
  const { status, stderr } = spawnSync(process.execPath, ["scripts/test.ts", "no-such-word"], {
    cwd: root,
    encoding: "utf8",
  });
  assert.equal(status, 2);
  assert.match(stderr, /^no test file .* has no-such-word in its path$/m);
});

test("version, homepage, repository and engines are those of the root's package.json", () => {
  const check = [join(root, "scripts/release/metadata.ts"), "--check"];
  const { status, stderr } = spawnSync(process.execPath, check, { encoding: "utf8" });
  assert.equal(status, 0, stderr);
});

test("workflows and pages name scripts that exist", () => {
  const { scripts = {} } = manifest("package.json");
  const pages = [
    ...globSync(".github/workflows/*.yml", { cwd: root }),
    "CONTRIBUTING.md",
    "SECURITY.md",
    ".ci/run",
  ];
  assert.ok(pages.length >= 5);
  for (const page of pages) {
    const text = read(page);
    if (page.endsWith(".yml")) assert.ok("jobs" in (parse(text) as object), page);
    for (const [, name = "", ofPackage] of text.matchAll(/npm run (?:-s )?([\w:-]+)( -w)?/g))
      assert.ok(ofPackage !== undefined || name in scripts, `${page}: npm run ${name}`);
  }
});
