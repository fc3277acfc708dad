import { copyFileSync, mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import { run } from "../network/run.ts";
import { findCommand } from "../runtime/find-command.ts";

/** Where they lie in the root of an image. */
export const toolsInRoot = "/dev/.lameduck";

const names = ["env", "setpriv"] as const;

/** Programs of this machine that run in the root of an image, whatever that has itself. */
export interface ImageTools {
  /** They, their libraries and the loader. */
  readonly folder: string;
  /** What starts one of them in the root. */
  command(name: (typeof names)[number]): string[];
}

/** @param folder to be made. @returns why they cannot be had, where they cannot. */
export async function findTools(folder: string): Promise<ImageTools | string> {
  mkdirSync(folder);
  const loaders = new Map<string, string>();
  for (const name of names) {
    const path = findCommand(name, process.env["PATH"] ?? "/usr/bin:/bin", "/");
    if (path === undefined) return `there is no ${name} here: install coreutils and util-linux`;
    copyFileSync(path, join(folder, name));
    const { code, stdout, stderr } = await run("ldd", [path]);
    if (code === 127) return "there is no ldd here, which says what a program needs";
    if (code !== 0 && !/dynamic/.test(stdout + stderr)) return `ldd ${path}: ${stderr.trim()}`;
    for (const [, wanted = "", found = wanted] of stdout.matchAll(/^\s*(\S+)(?: => (\S+))? \(0x/gm)) {
      // That of the kernel has no file.
      if (!found.startsWith("/")) continue;
      copyFileSync(found, join(folder, basename(wanted)));
      if (/^ld.*\.so/.test(basename(wanted))) loaders.set(name, basename(wanted));
    }
  }
  return {
    folder,
    command: (name) => {
      const loader = loaders.get(name);
      const program = join(toolsInRoot, name);
      return loader === undefined
        ? [program]
        : [join(toolsInRoot, loader), "--library-path", toolsInRoot, program];
    },
  };
}
