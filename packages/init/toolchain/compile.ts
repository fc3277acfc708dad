import { spawnSync } from "node:child_process";
import { globSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Compiler } from "./compilers.ts";

/** Where package.json is: one folder up from here, as source and as built. */
export const packageRoot = fileURLToPath(new URL("..", import.meta.url));

const warnings = ["-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror"];
/** Small, and what is not used is left out. */
const releaseFlags: readonly string[] =
  "-Os -flto -static -s -fno-asynchronous-unwind-tables -ffunction-sections -fdata-sections -Wl,--gc-sections".split(
    " ",
  );

/** All C files of the program, from the package's folder on: where a clone is must not change what is built. */
export function programSources(): string[] {
  return globSync("src/**/*.c", { cwd: packageRoot }).sort();
}

/** Those that a harness with a main of its own links with. */
export function librarySources(): string[] {
  return programSources().filter((path) => path !== "src/main.c");
}

/** @throws {Error} with what the compiler said. */
export function compile(
  { command, first }: Compiler,
  flags: readonly string[],
  sources: readonly string[],
  output: string,
): void {
  mkdirSync(dirname(output), { recursive: true });
  const { version, homepage } = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8")) as {
    version: string;
    homepage: string;
  };
  // Names that end in .example lead nowhere (RFC 2606).
  const home = new URL(homepage).hostname.endsWith(".example") ? "" : homepage;
  const stamps = [`-DLAMEDUCK_VERSION="${version}"`, `-DLAMEDUCK_HOMEPAGE="${home}"`];
  const arguments_ = [...first, ...warnings, ...stamps, ...flags, ...sources, "-o", output, "-lm"];
  const { status, stderr, error } = spawnSync(command, arguments_, { cwd: packageRoot, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} failed: ${error?.message ?? stderr}`);
}

/** As users get it: small. */
export function compileForRelease(compiler: Compiler, sources: readonly string[], output: string): void {
  compile(compiler, releaseFlags, sources, output);
}
