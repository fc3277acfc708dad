/**
 * `npm run install-into -- DIR`: packs the three packages of this clone and installs them into a folder of yours, as long as none of them is published. The
 * packed files stay there, in `lameduck-packages`, so that its package.json means something on other machines, too.
 */
import { spawnSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { findReleaseCompiler, installZig } from "../../packages/init/toolchain/compilers.ts";
import { folderOf, published } from "./workspace.ts";

const [given, ...more] = process.argv.slice(2);
if (given === undefined || given.startsWith("-") || more.length > 0) {
  process.stderr.write("usage: npm run install-into -- DIR\n");
  process.exitCode = 2;
} else {
  try {
    // npm runs scripts in the folder of the package, and says where it was called.
    installInto(resolve(process.env["INIT_CWD"] ?? ".", given));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

function installInto(folder: string): void {
  const missing = (["x64", "arm64"] as const).filter((architecture) => !findReleaseCompiler(architecture));
  const tarballs = join(folder, "lameduck-packages");
  rmSync(tarballs, { recursive: true, force: true });
  mkdirSync(tarballs, { recursive: true });
  for (const name of published) {
    process.stderr.write(`packing ${name} ...\n`);
    npm(["pack", "--silent", "--pack-destination", tarballs], folderOf(name));
  }
  // Otherwise npm would install into a folder above that has one.
  if (!existsSync(join(folder, "package.json")))
    writeFileSync(join(folder, "package.json"), `${JSON.stringify({ private: true })}\n`);
  const files = globSync("*.tgz", { cwd: tarballs }).sort();
  const specs = files.map((file) => `./lameduck-packages/${file}`);
  npm(["install", "--no-audit", "--no-fund", "--loglevel", "error", ...specs], folder);
  process.stdout.write(
    `installed lameduck, @lameduck/node and @lameduck/init into ${folder}: npx lameduck --help\n`,
  );
  if (missing.length > 0)
    process.stdout.write(
      `without lameduck-init for ${missing.join(" and ")}, as there is no C compiler for it here: init-binary and what runs it fails, all else works. ` +
        `\`${installZig}\`, then again\n`,
    );
}

/** @throws {Error} with what npm said. */
function npm(args: readonly string[], cwd: string): void {
  // What npm was told of this clone is not meant for the other folder.
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^npm_(lifecycle|package|config_local)_/i.test(name),
  );
  const env = { ...Object.fromEntries(inherited), LAMEDUCK_PACK_WITHOUT_BINARIES: "1" };
  const { status, stdout, stderr, error } = spawnSync("npm", args, { cwd, env, encoding: "utf8" });
  if (status !== 0)
    throw new Error(`npm ${args.join(" ")} failed: ${error?.message ?? `${stdout}${stderr}`}`);
}
