/** What is published is described alike everywhere, and the instructions for it name commands that exist. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { cacheDirectory } from "../../../e2e/cluster/host/paths.ts";
import { helmHere } from "../../../e2e/cluster/host/programs.ts";

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

test("what several files say of the project is what the root's package.json says", () => {
  const check = [join(root, "scripts/release/metadata.ts"), "--check"];
  const { status, stderr } = spawnSync(process.execPath, check, { encoding: "utf8" });
  assert.equal(status, 0, stderr);
});

interface Addressed {
  readonly homepage: string;
  readonly repository: { readonly url: string };
  readonly addresses: { readonly image: string; readonly charts: string };
}
const another = "https://duck.invalid/";

test("one edit and two commands give the project other addresses everywhere", async (t) => {
  const listed = spawnSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" });
  if (listed.status !== 0) return t.skip("needs a clone by git");
  const tracked = listed.stdout.split("\0");
  const copy = mkdtempSync(join(tmpdir(), "lameduck-addresses-"));
  try {
    for (const file of tracked.filter((one) => one !== "" && existsSync(join(root, one))))
      cpSync(join(root, file), join(copy, file));
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
    const edited = join(copy, "package.json");
    const { homepage, repository, addresses } = JSON.parse(read("package.json")) as Addressed;
    const old = [homepage, repository.url, addresses.image, addresses.charts];
    const other = old.reduce(
      (text, one) => text.replaceAll(`"${one}"`, `"${another}"`),
      read("package.json"),
    );
    writeFileSync(edited, other);
    const helm = await helmHere(cacheDirectory());
    const scripts = [
      "scripts/release/metadata.ts",
      ...(helm === undefined ? [] : ["scripts/render-install.ts"]),
    ];
    for (const script of scripts) {
      const { status, stderr } = spawnSync(process.execPath, [script], { cwd: copy, encoding: "utf8" });
      assert.equal(status, 0, stderr);
    }
    // Written by Helm alone.
    const rendered = helm === undefined ? /^docs\/install[^/]*\.yaml$/ : /^$/;
    const left = tracked.filter((file) => {
      if (file === "" || rendered.test(file) || !existsSync(join(copy, file))) return false;
      const text = readFileSync(join(copy, file), "utf8");
      return old.some((one) => text.includes(one));
    });
    assert.deepEqual(left, []);
    const values = readFileSync(join(copy, "packages/operator/chart/lameduck/values.yaml"), "utf8");
    assert.ok(values.includes(`repository: ${another}`));
  } finally {
    rmSync(copy, { recursive: true });
  }
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
