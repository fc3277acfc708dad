import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { findCompiler } from "../../init/toolchain/compilers.ts";

const root = join(import.meta.dirname, "..", "..", "..");
/** Built anew in the copy. */
const leftOut = /^(node_modules|dist|\.git|\.zig|e2e|.*\.tsbuildinfo)$/;
/** Packages of others that the published command needs, and that those need in turn: all are packed here, so that nothing is fetched. */
function packagesOfOthers(): ReadonlySet<string> {
  const found = new Set<string>();
  const add = (folder: string): void => {
    const manifest = readFileSync(join(root, folder, "package.json"), "utf8");
    const { dependencies = {} } = JSON.parse(manifest) as { dependencies?: Record<string, string> };
    for (const name of Object.keys(dependencies)) {
      if (name.startsWith("@lameduck/") || found.has(name)) continue;
      found.add(name);
      add(join("node_modules", name));
    }
  };
  add("packages/cli");
  return found;
}

/** @returns what it wrote to stdout. */
export function must(file: string, args: readonly string[], cwd: string, node = process.execPath): string {
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env["PATH"]}` };
  const { status, stdout, stderr, error } = spawnSync(file, args, { cwd, env, encoding: "utf8" });
  if (status === 0) return stdout;
  throw new Error(`${file} ${args.join(" ")} in ${cwd}: ${error?.message ?? `${status} ${stdout}${stderr}`}`);
}

/** A clone as `npm ci` leaves it, without anything that was built here: its packages are its own, the others those of this clone. */
function copyOfClone(folder: string): string {
  const copy = join(folder, "clone");
  cpSync(root, copy, { recursive: true, filter: (path) => path === root || !leftOut.test(basename(path)) });
  const modules = join(copy, "node_modules");
  mkdirSync(join(modules, "@lameduck"), { recursive: true });
  for (const name of readdirSync(join(root, "node_modules")))
    if (!["@lameduck", "lameduck", ".cache"].includes(name))
      symlinkSync(join(root, "node_modules", name), join(modules, name));
  // Compilers of this machine take a fifth of the time; `npm run test:packed` packs what users get.
  const needsZig = findCompiler("arm64")?.command.includes("zig") === true;
  const zig = "packages/init/.zig";
  if ((needsZig || process.env["LAMEDUCK_PACKED"] === "whole") && existsSync(join(root, zig)))
    symlinkSync(join(root, zig), join(copy, zig));
  for (const name of readdirSync(join(copy, "packages")))
    symlinkSync(join(copy, "packages", name), join(modules, "@lameduck", name));
  return copy;
}

/** Packs the three published packages and installs them. @returns a folder with `clone`, `tarballs` and `app`; to be removed. */
export function installPacked(): string {
  const folder = mkdtempSync(join(tmpdir(), "lameduck-packed-"));
  const copy = copyOfClone(folder);
  const tarballs = join(folder, "tarballs");
  const app = join(folder, "app");
  mkdirSync(tarballs);
  mkdirSync(app);
  const pack = ["pack", "--silent", "--pack-destination", tarballs];
  const ours = ["init", "node", "cli"].map((name) => must("npm", pack, join(copy, "packages", name)));
  const others = [...packagesOfOthers()].map((name) =>
    must("npm", [...pack, "--ignore-scripts"], join(root, "node_modules", name)),
  );
  const files = [...ours, ...others].map((name) => join(tarballs, name.trim()));
  writeFileSync(join(app, "package.json"), JSON.stringify({ private: true }));
  must("npm", ["install", "--offline", "--no-audit", "--no-fund", "--loglevel", "error", ...files], app);
  return folder;
}
