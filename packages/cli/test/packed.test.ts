/**
 * What a user gets: the three packages packed as in a clean clone, installed into an empty folder, and run. With LAMEDUCK_PACKED=whole
 * (`npm run test:packed`) also a lab, and all of it on the oldest and the newest Node as well, installed by the npm that they run.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { SourceMap, type SourceMapPayload } from "node:module";
import { delimiter, join } from "node:path";
import { after, test } from "node:test";
import { findReleaseCompiler } from "../../init/toolchain/compilers.ts";
import { fetchNode, newestNode } from "../../../scripts/other-nodes.ts";
import { installPacked, must } from "./install-packed.ts";

const missing = (["x64", "arm64"] as const).filter((architecture) => !findReleaseCompiler(architecture));
const skip = missing.length > 0 && `no C compiler for ${missing.join(" and ")}`;
const folder = skip ? "" : installPacked();
after(() => rmSync(folder, { recursive: true, force: true }));
const app = join(folder, "app");
const modules = join(app, "node_modules");
const lameduck = (args: readonly string[], node?: string): string =>
  must(join(modules, ".bin/lameduck"), args, app, node);

test("each package has its licence, its page and nothing of the development", { skip }, () => {
  for (const name of ["lameduck", "@lameduck/node", "@lameduck/init"]) {
    const here = join(modules, name);
    for (const file of ["LICENSE", "README.md"]) assert.ok(existsSync(join(here, file)), `${name}/${file}`);
    assert.deepEqual(globSync("{test,bench,scripts,toolchain,fuzz,**/*.tsbuildinfo}", { cwd: here }), []);
  }
  assert.ok(existsSync(join(modules, "lameduck/docs/reference/errors.md")));
  assert.ok(existsSync(join(modules, "lameduck/dist/private/load/in-cluster/load-pod.mjs")));
  assert.deepEqual(globSync("*", { cwd: join(modules, "@lameduck") }).sort(), ["init", "node"]);
});

test("links between the pages lead to files that are there", { skip }, () => {
  for (const page of globSync("{lameduck,@lameduck/*}/{README.md,docs/**/*.md}", { cwd: modules }))
    for (const [, link = ""] of readFileSync(join(modules, page), "utf8").matchAll(
      /\]\((?!https?:|#)([^)#\s]+)/g,
    ))
      assert.ok(existsSync(join(modules, page, "..", link)), `${page}: ${link}`);
});

test("packing leaves the clone as it was", { skip }, () => {
  const left = globSync("packages/*/{LICENSE,docs,dist/private,dist/cjs}", { cwd: join(folder, "clone") });
  assert.deepEqual(left, []);
  assert.ok(existsSync(join(folder, "clone/packages/cli/dist/main.js")));
});

test("without a compiler for a binary, packing fails in one line", { skip }, () => {
  const bin = join(folder, "bin");
  mkdirSync(bin);
  symlinkSync(process.execPath, join(bin, "node"));
  symlinkSync(join(folder, "clone/node_modules/.bin/tsc"), join(bin, "tsc"));
  const clone = join(folder, "clone");
  rmSync(join(clone, "packages/init/.zig"), { force: true });
  const { status, stdout, stderr } = spawnSync("node", [join(clone, "scripts/pack/pack.ts"), "prepack"], {
    cwd: join(clone, "packages/init"),
    env: { PATH: bin },
    encoding: "utf8",
  });
  assert.match(`${stdout}${stderr}`, /^cannot pack: no C compiler for x64 and arm64; run [^\n]+\n$/);
  assert.equal(status, 1);
  assert.ok(existsSync(join(clone, "packages/init/dist/compile.js")), "the build is back");
});

test("source maps lead to the sources, which they contain", { skip }, () => {
  const maps = globSync("{lameduck,@lameduck/node}/dist/**/*.js.map", { cwd: modules });
  assert.ok(maps.length > 300, `${maps.length} maps`);
  for (const file of maps) {
    const { sources, sourcesContent } = payloadOf(file);
    assert.equal(sourcesContent?.length, sources.length, file);
  }
  for (const [file, words] of [
    ["lameduck/dist/main.js", "surviveReaders();"],
    ["lameduck/dist/private/load/generator/child.js", "serialization:"],
    ["@lameduck/node/dist/lameduck.js", "this.terminate(reason)"],
  ] as const) {
    const lines = readFileSync(join(modules, file), "utf8").split("\n");
    const line = lines.findIndex((one) => one.includes(words));
    const payload = payloadOf(`${file}.map`);
    const entry = new SourceMap(payload).findEntry(line, lines[line]?.indexOf(words) ?? -1);
    assert.ok("originalLine" in entry, `${file} has "${words}"`);
    assert.ok(payload.sourcesContent[0]?.split("\n")[entry.originalLine]?.includes(words), file);
  }
});

function payloadOf(file: string): SourceMapPayload {
  return JSON.parse(readFileSync(join(modules, file), "utf8")) as SourceMapPayload;
}

test("a Node that is too old is told in one line which one is needed", { skip }, () => {
  const older =
    "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '22.9.0' } })";
  const bin = join(modules, "lameduck/bin/lameduck.js");
  const { status, stderr } = spawnSync(
    process.execPath,
    ["--import", `data:text/javascript,${encodeURIComponent(older)}`, bin, "--version"],
    { encoding: "utf8" },
  );
  assert.equal(
    stderr,
    "error Node 22.9.0 is too old: Lameduck needs Node 22.12.0 or newer [LAMEDUCK_OLD_NODE]; in this folder: npm install --save-dev node@24\n",
  );
  assert.equal(status, 4);
});

const library = `
  const { lameduck } = require("@lameduck/node");
  const server = require("node:http").createServer((request, response) => response.end("ok"));
  const duck = lameduck(server, { policy: "fixed", delay: "10ms", floor: "0s"});
  import("@lameduck/node").then(async (module) => {
    if (typeof module.lameduck !== "function" || typeof duck.on !== "function") throw new Error("no lameduck");
    server.listen(0, () => process.exit(0));
  });`;

/** Into an empty folder, by the npm that the Node runs. */
function installs(title: string, find: () => string): void {
  test(`${title}: npm installs the packages into an empty folder`, { skip }, (context) => {
    const node = nodeOr(context, find);
    if (node === undefined) return;
    const empty = mkdtempSync(join(folder, "empty-"));
    const files = globSync("*.tgz", { cwd: join(folder, "tarballs") }).map((file) =>
      join(folder, "tarballs", file),
    );
    const quietly = ["--offline", "--no-audit", "--no-fund", "--loglevel", "error", "--engine-strict"];
    must("npm", ["install", ...quietly, "--prefix", empty, ...files], empty, node);
    const bin = join(empty, "node_modules/.bin/lameduck");
    assert.match(must(bin, ["--version"], empty, node), /^\d+\.\d+\.\d+/);
    must("node", ["-e", library], empty, node);
  });
}

function runs(title: string, find: () => string): void {
  test(`${title}: the command, the library and the init run`, { skip }, (context) => {
    const node = nodeOr(context, find);
    if (node === undefined) return;
    const help = must("npx", ["--offline", "lameduck", "lab", "--help"], app, node);
    assert.match(help, /^Usage: lameduck lab/);
    must("node", ["--check", join(modules, "lameduck/dist/private/load/in-cluster/load-pod.mjs")], app, node);
    assert.match(lameduck(["help", "LAMEDUCK_NO_KUBECONFIG"], node), /Remedy:/);
    assert.match(lameduck(["simulate", "--terminations", "20", "--rps", "50"], node), /adaptive/);
    must("node", ["-e", library], app, node);
    must("node", ["--import", "@lameduck/node/register", "-e", "0"], app, node);
    const init = lameduck(["init-binary"], node).trim();
    assert.equal(must(init, ["--", "echo", "started"], app), "started\n");
    for (const [arch, machine] of [
      ["amd64", 62],
      ["arm64", 183],
    ] as const) {
      const binary: Buffer = readFileSync(lameduck(["init-binary", "--arch", arch], node).trim());
      assert.equal(binary.readUInt16LE(18), machine, `the ELF header of ${arch}`);
    }
  });
}

function nodeOr(context: { skip(reason: string): void }, find: () => string): string | undefined {
  try {
    return find();
  } catch (error) {
    context.skip(error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

/** One pod, replaced once, under hardly any load. */
const shortLab =
  "lab --replicas 1 --rps 50 --warm-up 500ms --grace 10s --remedies adaptive --allow-loss".split(" ");

function runsLab(title: string, find: () => string): void {
  test(`${title}: a lab runs`, { skip }, (context) => {
    const node = nodeOr(context, find);
    if (node === undefined) return;
    const results = JSON.parse(
      lameduck([...shortLab, "--propagation", "exactly 1s", "--json", "-"], node),
    ) as {
      remedies: { remedy: string; terminations: number }[];
    };
    assert.deepEqual(
      results.remedies.map(({ remedy, terminations }) => [remedy, terminations]),
      [["adaptive", 1]],
    );
  });
}

/** Node, npm, git and what their scripts start: a machine without a C compiler. */
function barePath(): string {
  const bare = join(folder, "bare");
  mkdirSync(bare);
  for (const name of ["sh", "env", "npm", "npx", "git", "tar", "gzip", "dirname", "uname"]) {
    const found = (process.env["PATH"] ?? "").split(delimiter).map((part) => join(part, name));
    const path = found.find((each) => existsSync(each));
    if (path !== undefined) symlinkSync(realpathSync(path), join(bare, name));
  }
  symlinkSync(process.execPath, join(bare, "node"));
  symlinkSync(join(folder, "clone/node_modules/.bin/tsc"), join(bare, "tsc"));
  return bare;
}

if (process.env["LAMEDUCK_PACKED"] === "whole")
  test(
    "install-into fills an empty folder, also without a C compiler: all but the init's binary is there",
    { skip },
    (context) => {
      const own = join(folder, "own");
      rmSync(join(folder, "clone/packages/init/.zig"), { force: true });
      const { status, stdout, stderr } = spawnSync("npm", ["run", "-s", "install-into", "--", own], {
        cwd: join(folder, "clone"),
        env: { ...process.env, PATH: barePath() },
        // npm tries for a long time where there is no network.
        timeout: 200_000,
        encoding: "utf8",
      });
      if (status === null || /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT/.test(stderr))
        return context.skip("needs the npm registry");
      assert.equal(status, 0, stderr);
      assert.match(stdout, /^installed lameduck, .*\nwithout lameduck-init for x64 and arm64, .*pip install/);
      const bin = join(own, "node_modules/.bin/lameduck");
      assert.match(must(bin, ["--help"], own), /^Usage: lameduck/);
      must("node", ["-e", library], own);
      assert.equal(spawnSync(bin, ["init-binary"], { cwd: own }).status, 4);
      const { dependencies } = JSON.parse(readFileSync(join(own, "package.json"), "utf8")) as {
        dependencies: object;
      };
      assert.deepEqual(
        Object.values(dependencies).map((one) => String(one).slice(0, 24)),
        Array(3).fill("file:lameduck-packages/l"),
      );
    },
  );

runs("this Node", () => process.execPath);
if (process.env["LAMEDUCK_PACKED"] === "whole") {
  runsLab("this Node", () => process.execPath);
  for (const [title, version] of [
    ["the oldest Node", () => "22.12.0"],
    ["the newest Node", newestNode],
  ] as const) {
    installs(title, () => fetchNode(version()));
    runs(title, () => fetchNode(version()));
    runsLab(title, () => fetchNode(version()));
  }
}
