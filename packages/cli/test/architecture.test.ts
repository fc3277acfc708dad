import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import test from "node:test";
import { order as ordered } from "../../../scripts/pack/workspace.ts";

const order: readonly string[] = ordered;

/** What each file imports, type imports and re-exports included: paths from the repository's root, or names of packages. */
type Imports = ReadonlyMap<string, readonly string[]>;

const root = join(import.meta.dirname, "..", "..", "..");
const specifiers =
  /^(?:import|export)\b(?:[^"';]*?\bfrom)?\s*"([^"]+)"|\bimport\(\s*"([^"]+)"|\bnew URL\(\s*["`](\.[^"`$]+\.ts)["`], import\.meta\.url\)/gm;

function importsOf(file: string, text: string): string[] {
  return [...text.matchAll(specifiers)].map((match) => {
    const specifier = match[1] ?? match[2] ?? match[3] ?? "";
    return specifier.startsWith(".") ? posix.join(posix.dirname(file), specifier) : specifier;
  });
}

function importsIn(...patterns: string[]): Imports {
  const files = globSync(patterns, { cwd: root, exclude: (path) => path.endsWith("node_modules") });
  assert.ok(files.length > 0, `there are files in ${patterns.join(" ")}`);
  return new Map(files.map((file) => [file, importsOf(file, readFileSync(join(root, file), "utf8"))]));
}

/** One circle for each file from which the search runs into one, as "a -> b -> a". */
function circles(imports: Imports): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): void => {
    const at = path.indexOf(file);
    if (at >= 0) found.push([...path.slice(at), file].join(" -> "));
    if (at >= 0 || done.has(file)) return;
    path.push(file);
    for (const next of imports.get(file) ?? []) visit(next);
    path.pop();
    done.add(file);
  };
  for (const file of imports.keys()) visit(file);
  return found;
}

/** A folder below `src` with all files in it; a file that is directly in `src` by itself. */
function roomOf(file: string): string | undefined {
  const [, , source, ...below] = file.split("/");
  if (!file.startsWith("packages/") || source !== "src" || below.length === 0) return undefined;
  return below.length === 1 ? file : posix.dirname(file);
}

/** The same between folders: what a file of one imports of another. */
function betweenFolders(imports: Imports): Imports {
  const all = new Map<string, Set<string>>();
  for (const [file, targets] of imports) {
    const from = roomOf(file);
    if (from === undefined) continue;
    const known = all.get(from) ?? new Set();
    all.set(from, known);
    for (const target of targets) {
      const to = roomOf(target);
      if (to !== undefined && to !== from) known.add(to);
    }
  }
  return new Map([...all].map(([from, to]) => [from, [...to]]));
}

const packageOf = (file: string): string => /^packages\/([^/]+)\//.exec(file)?.[1] ?? "";

const packageNamed = (specifier: string): string | undefined =>
  /^@lameduck\/([^/]+)/.exec(specifier)?.[1] ?? (/^lameduck(?:\/|$)/.test(specifier) ? "cli" : undefined);

/** Imports of a package that does not come before the importer's, also by a path. */
function againstTheOrder(imports: Imports): string[] {
  return [...imports].flatMap(([file, targets]) =>
    targets
      .filter((target) => {
        const own = packageOf(file);
        const used = packageNamed(target) ?? packageOf(target);
        return own !== "" && used !== "" && used !== own && order.indexOf(used) >= order.indexOf(own);
      })
      .map((target) => `${file} -> ${target}`),
  );
}

/** Imports of another package's files by a path, past its public face. */
function pastTheFace(imports: Imports): string[] {
  return [...imports].flatMap(([file, targets]) =>
    targets
      .filter((target) => packageOf(target) !== "" && packageOf(target) !== packageOf(file))
      .map((target) => `${file} -> ${target}`),
  );
}

test("every package has its place in the order", () => {
  const packages = globSync("packages/*/package.json", { cwd: root }).map(packageOf);
  assert.deepEqual(packages.sort(), [...order].sort());
});

test("no file imports itself through others, not even for a type", () => {
  assert.deepEqual(circles(importsIn("packages/*/{src,test}/**/*.ts", "e2e/**/*.ts", "scripts/**/*.ts")), []);
});

test("no folder imports itself through others, not even for a type", () => {
  assert.deepEqual(circles(betweenFolders(importsIn("packages/*/src/**/*.ts"))), []);
});

test("packages use only those before them", () => {
  assert.deepEqual(againstTheOrder(importsIn("packages/*/src/**/*.ts")), []);
});

test("tests and their helpers, too, use the same package or one before it", () => {
  // So do benchmarks, except those of @lameduck/node and @lameduck/init: they run in the lab, which comes after them.
  const measured = order.filter((name) => name !== "node" && name !== "init").join(",");
  const files = importsIn("packages/*/{test,fuzz}/**/*.ts", `packages/{${measured}}/{bench,scripts}/**/*.ts`);
  assert.deepEqual(againstTheOrder(files), []);
});

test("packages, and e2e, import other packages by their public faces", () => {
  assert.deepEqual(pastTheFace(importsIn("packages/*/src/**/*.ts", "e2e/**/*.ts")), []);
});

test("docs/contributing/architecture.md names every package and its folders, and no path that does not exist", () => {
  const page = readFileSync(join(root, "docs/contributing/architecture.md"), "utf8");
  const named = new Set(
    [...page.matchAll(/\b(?:packages|e2e|scripts|docs)\/[\w./-]*\w/g)].map(([path]) => path),
  );
  assert.deepEqual(
    [...named].filter((path) => !existsSync(join(root, path))),
    [],
  );
  const folders = globSync("{packages/*/src,e2e}/*/", { cwd: root })
    .map((path) => path.replace(/\/$/, ""))
    .filter((path) => !path.endsWith("node_modules"));
  const expected = [...order.map((name) => `packages/${name}`), ...folders];
  assert.deepEqual(
    expected.filter((path) => !named.has(path)),
    [],
  );
});

test("a circle, an import against the order and one past a face are found", () => {
  const files: Imports = new Map(
    Object.entries({
      "packages/load/src/a.ts": [
        'import type { B } from "./b.ts";',
        'import { run } from "@lameduck/stage";',
      ],
      "packages/load/src/b.ts": ['export * from "./deep/c.ts";', 'import { client } from "@lameduck/kube";'],
      "packages/load/src/deep/c.ts": ['import {\n  a,\n  type A,\n} from "../a.ts";'],
      "packages/load/src/d.ts": ['const d = await import("lameduck");', 'import "./b.ts";'],
      "packages/stage/src/e.ts": ['import { b } from "../../load/src/b.ts";'],
      "e2e/f.ts": ['import { b } from "../packages/load/src/b.ts";', 'import { b } from "@lameduck/load";'],
    }).map(([file, lines]) => [file, importsOf(file, lines.join("\n"))]),
  );
  assert.deepEqual(circles(files), [
    "packages/load/src/a.ts -> packages/load/src/b.ts -> packages/load/src/deep/c.ts -> packages/load/src/a.ts",
  ]);
  assert.deepEqual(circles(betweenFolders(files)), [
    "packages/load/src/a.ts -> packages/load/src/b.ts -> packages/load/src/deep -> packages/load/src/a.ts",
  ]);
  assert.deepEqual(againstTheOrder(files), [
    "packages/load/src/a.ts -> @lameduck/stage",
    "packages/load/src/d.ts -> lameduck",
  ]);
  assert.deepEqual(pastTheFace(files), [
    "packages/stage/src/e.ts -> packages/load/src/b.ts",
    "e2e/f.ts -> packages/load/src/b.ts",
  ]);
});
