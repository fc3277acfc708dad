import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import type { Architecture } from "./index.ts";

export interface Compiler {
  readonly command: string;
  /** Makes the smallest static binaries (musl) or just static ones (glibc). */
  readonly libc: "musl" | "glibc";
}

/** In order of preference: musl gives 165 kB where glibc gives 670 to 860 kB. */
const candidates: Readonly<Record<Architecture, readonly Compiler[]>> = {
  x64: [
    { command: "musl-gcc", libc: "musl" },
    { command: "x86_64-linux-musl-gcc", libc: "musl" },
    { command: "x86_64-linux-gnu-gcc", libc: "glibc" },
  ],
  arm64: [
    { command: "aarch64-linux-musl-gcc", libc: "musl" },
    { command: "aarch64-linux-gnu-gcc", libc: "glibc" },
  ],
};

/** The best compiler here for static binaries of that kind, if there is one. */
export function findCompiler(architecture: Architecture): Compiler | undefined {
  const native: Compiler[] = architecture === process.arch ? [{ command: "cc", libc: "glibc" }] : [];
  // musl-gcc wraps the compiler of this machine, whatever that is.
  const fitting = candidates[architecture].filter(
    ({ command }) => command !== "musl-gcc" || architecture === process.arch,
  );
  const onArm: Compiler[] =
    architecture === "arm64" && process.arch === "arm64" ? [{ command: "musl-gcc", libc: "musl" }] : [];
  return [...onArm, ...fitting, ...native].find(({ command }) => isInstalled(command) && hasLibc(command));
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
