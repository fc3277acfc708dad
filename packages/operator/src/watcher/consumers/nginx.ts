import { glob, lstat, readFile, stat } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { dirname, isAbsolute, join } from "node:path";
import { messageOf } from "@lameduck/drain/common";
import { canonicalAddress, mentions } from "../rules/addresses.ts";
import { unreadable, type Consumer } from "./consumer.ts";
import { workerStarts } from "./nginx-processes.ts";

/** nginx reads at most so many. */
const mostFiles = 10_000;
/**
 * Milliseconds after the last change. A reload that began before the change may start workers with the old configuration after it; the reload that
 * belongs to the change replaces them within this time.
 */
const settle = 500;

interface Configuration {
  readonly text: string;
  /** When it changed last, milliseconds since 1970. */
  readonly changedAt: number;
}

/**
 * nginx, by its configuration and its workers. An address is let go of when no file names it, and every worker that accepts connections started
 * after it disappeared from the files.
 */
export function nginx(file: string, pidFile: string): Consumer {
  /** Since when each address is in no file. */
  let absentSince = new Map<string, number>();
  return {
    kind: "nginx",
    basis: "state",
    stillUsed: async (addresses) => {
      const { text, changedAt } = await read(file);
      // nginx takes an IPv6 address in brackets only.
      const inBrackets = new Set(
        Array.from(text.matchAll(/\[([0-9a-fA-F:.]+)\]/g), ([, six = ""]) => canonicalAddress(six)),
      );
      const oldest = Math.min(...(await workerStarts(pidFile)));
      const now = Date.now();
      const next = new Map<string, number>();
      const used = addresses.filter((address) => {
        if (isIPv6(address) ? inBrackets.has(canonicalAddress(address) ?? "") : mentions(text, [address]))
          return true;
        const since = absentSince.get(address) ?? changedAt;
        next.set(address, since);
        return oldest < since || now < since + settle;
      });
      absentSince = next;
      return new Set(used);
    },
  };
}

/** A file with all that it includes. @throws {OperatorError} */
async function read(file: string): Promise<Configuration> {
  const texts: string[] = [];
  let changedAt = 0;
  const seen = new Set([file]);
  for (const path of seen) {
    if (seen.size > mostFiles) throw unreadable(file, `it includes more than ${mostFiles} files`);
    const text = await readFile(path, "latin1").catch((error: unknown) => {
      throw unreadable(path, messageOf(error), { cause: error });
    });
    texts.push(text);
    changedAt = Math.max(changedAt, await changeOf(path));
    for (const [, pattern = ""] of text.matchAll(/^\s*include\s+["']?([^"';]+?)["']?\s*;/gm)) {
      const whole = isAbsolute(pattern) ? pattern : join(dirname(file), pattern);
      if (!/[*?[]/.test(whole)) seen.add(whole);
      else {
        for await (const one of glob(whole)) seen.add(one);
        // Removing a file changes its folder's time.
        changedAt = Math.max(changedAt, await changeOf(dirname(whole)));
      }
    }
  }
  return { text: texts.join("\n"), changedAt };
}

/** When the path changed, renames and swapped links included: a mounted ConfigMap changes by a link. */
async function changeOf(path: string): Promise<number> {
  const [own, target, folder] = await Promise.all([lstat(path), stat(path), stat(dirname(path))]).catch(
    (error: unknown) => {
      throw unreadable(path, messageOf(error), { cause: error });
    },
  );
  return Math.max(own.ctimeMs, target.ctimeMs, own.isSymbolicLink() ? folder.ctimeMs : 0);
}
