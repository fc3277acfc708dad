import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Architecture } from "./index.ts";

export interface Compiler {
  readonly command: string;
  /** What comes before all other arguments. */
  readonly first: readonly string[];
  /** Makes the smallest static binaries (musl) or just static ones (glibc). */
  readonly libc: "musl" | "glibc";
}

/** One version, so that every clone builds the same bytes. It brings its own C library. */
const zigVersion = "0.17.1";
const zigFolder = fileURLToPath(new URL("../.zig", import.meta.url));
const zigPlaces = [join(zigFolder, "ziglang/zig"), "zig"];

/** Installs what builds both binaries; nothing installs it unasked. */
export const installZig = `python3 -m pip install --target packages/init/.zig ziglang==${zigVersion}`;

/** In order of preference: musl gives 180 kB where glibc gives 670 to 860 kB. */
const candidates: Readonly<Record<Architecture, readonly string[]>> = {
  x64: ["musl-gcc", "x86_64-linux-musl-gcc", "x86_64-linux-gnu-gcc"],
  arm64: ["aarch64-linux-musl-gcc", "aarch64-linux-gnu-gcc"],
};

/** What a release is built with: the pinned zig, for both processors alike. */
export function findReleaseCompiler(architecture: Architecture): Compiler | undefined {
  return findZig(architecture) ?? findGcc(architecture);
}

/** What tests build with: a compiler of this machine takes a fifth of the time. */
export function findCompiler(architecture: Architecture): Compiler | undefined {
  return findGcc(architecture) ?? findZig(architecture);
}

export const clang: Compiler = { command: "clang", first: [], libc: "glibc" };
export const systemCompiler: Compiler = { command: "cc", first: [], libc: "glibc" };

function findZig(architecture: Architecture): Compiler | undefined {
  const target = `${architecture === "x64" ? "x86_64" : "aarch64"}-linux-musl`;
  const command = zigPlaces.find(
    (place) =>
      (place.includes("/") ? existsSync(place) : isInstalled(place)) && versionOf(place) === zigVersion,
  );
  return command === undefined ? undefined : { command, first: ["cc", "-target", target], libc: "musl" };
}

function versionOf(zig: string): string {
  const { status, stdout } = spawnSync(zig, ["version"], { encoding: "utf8" });
  return status === 0 ? stdout.trim() : "";
}

function findGcc(architecture: Architecture): Compiler | undefined {
  const isNative = architecture === process.arch;
  // musl-gcc wraps the compiler of this machine, whatever that is.
  const fitting = candidates[architecture].filter((command) => command !== "musl-gcc" || isNative);
  const onArm = isNative && architecture === "arm64" ? ["musl-gcc"] : [];
  const native = isNative ? ["cc"] : [];
  const command = [...onArm, ...fitting, ...native].find((each) => isInstalled(each) && hasLibc(each));
  if (command === undefined) return undefined;
  return { command, first: [], libc: command.includes("musl") ? "musl" : "glibc" };
}

/** A cross compiler may come without the headers of its C library: in Debian they are a package of their own. */
function hasLibc(command: string): boolean {
  const { status } = spawnSync(command, ["-fsyntax-only", "-x", "c", "-"], { input: "#include <stdio.h>\n" });
  return status === 0;
}

export function isInstalled(command: string): boolean {
  return (process.env["PATH"] ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, command), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
