import { watch, type FSWatcher } from "node:fs";
import { glob, lstat, readFile, stat } from "node:fs/promises";
import { isIPv4 } from "node:net";
import { basename, dirname, isAbsolute, join } from "node:path";
import { messageOf } from "@lameduck/drain/common";
import { unreadable } from "../consumer.ts";

/** nginx reads at most so many. */
const mostFiles = 10_000;
/** NGINX Plus keeps the servers of such an upstream in its memory, and changes them without a reload. */
const stateFile = /^[^#\n]*(?:^|[\s;{}])state\s+[^;\s]+\s*;/m;

export interface Configuration {
  readonly text: string;
  /** When it changed last, milliseconds since 1970. */
  readonly changedAt: number;
  /** The folders that it is in, each with the names that matter there. Undefined for a folder in which any file may matter. */
  readonly folders: ReadonlyMap<string, ReadonlySet<string> | undefined>;
}

/** A configuration file with all that it includes. @throws {OperatorError} */
export async function readConfiguration(file: string): Promise<Configuration> {
  const texts: string[] = [];
  let changedAt = 0;
  const seen = new Set([file]);
  const folders = new Map<string, Set<string> | undefined>();
  for (const path of seen) {
    if (seen.size > mostFiles) throw unreadable(file, `it includes more than ${mostFiles} files`);
    const text = await readFile(path, "latin1").catch((error: unknown) => {
      throw unreadable(path, messageOf(error), { cause: error });
    });
    if (stateFile.test(text)) throw unreadable(path, "an upstream of NGINX Plus has a state file");
    texts.push(text);
    changedAt = Math.max(changedAt, await changeOf(path));
    const folder = dirname(path);
    if (!folders.has(folder)) folders.set(folder, new Set());
    folders.get(folder)?.add(basename(path));
    for (const pattern of includesIn(text)) {
      const whole = isAbsolute(pattern) ? pattern : join(dirname(file), pattern);
      if (!/[*?[]/.test(whole)) seen.add(whole);
      else {
        for await (const one of glob(whole)) seen.add(one);
        // Removing a file changes its folder's time.
        changedAt = Math.max(changedAt, await changeOf(dirname(whole)));
        folders.set(dirname(whole), undefined);
      }
    }
  }
  return { text: texts.join("\n"), changedAt, folders };
}

/** The files and patterns that a text includes; a directive may follow another one on its line. */
function includesIn(text: string): string[] {
  return Array.from(
    withoutComments(text).matchAll(/(?:^|[;{}])\s*include\s+["']?([^"';]+?)(?=["']?\s*;)/gm),
    ([, one = ""]) => one,
  );
}

/**
 * A host among the servers of upstreams: nginx looks up its addresses when it loads the files, and goes on with them. No file shows them.
 * Lists of servers may be files of their own, so that any `server` with an address counts.
 */
export function hostAmongServers(text: string): string | undefined {
  const bare = withoutComments(text);
  const upstreams = new Set(
    Array.from(bare.matchAll(/(?:^|[\s;{}])upstream\s+["']?([^\s"'{]+)/g), ([, name]) => name),
  );
  const servers = Array.from(
    bare.matchAll(/(?:^|[;{}])\s*server\s+["']?([^\s"';{}]+)(?=[^;{}]*;)/gm),
    ([, one = ""]) => one.replace(/:[\w-]+$/, ""),
  );
  return servers.find(
    (one) => !isIPv4(one) && !/^(?:\[|unix:|unix$|localhost$)|\$/.test(one) && !upstreams.has(one),
  );
}

const withoutComments = (text: string): string => text.replace(/(^|[\s;{}])#.*$/gm, "$1");

/** When the path changed, renames and swapped links included: a mounted ConfigMap changes by a link. */
async function changeOf(path: string): Promise<number> {
  const [own, target, folder] = await Promise.all([lstat(path), stat(path), stat(dirname(path))]).catch(
    (error: unknown) => {
      throw unreadable(path, messageOf(error), { cause: error });
    },
  );
  return Math.max(own.ctimeMs, target.ctimeMs, own.isSymbolicLink() ? folder.ctimeMs : 0);
}

/** Tells of changed files at once, at no cost while nothing changes. Where the kernel does not tell, nobody is told. */
export class FileChanges {
  readonly #changed: () => void;
  readonly #watches = new Map<string, FSWatcher>();
  #folders: Configuration["folders"] = new Map();

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  follow(folders: Configuration["folders"]): void {
    this.#folders = folders;
    for (const [folder, watching] of this.#watches)
      if (!folders.has(folder)) {
        watching.close();
        this.#watches.delete(folder);
      }
    for (const folder of folders.keys()) if (!this.#watches.has(folder)) this.#watch(folder);
  }

  #watch(folder: string): void {
    try {
      const watching = watch(folder, { persistent: false }, (_event, name) => this.#told(folder, name));
      watching.on("error", () => this.#watches.delete(folder));
      this.#watches.set(folder, watching);
    } catch {
      // The kernel's limit is reached, or the folder has just gone.
    }
  }

  /** A log in the same folder is no change. A mounted ConfigMap changes by the link "..data". */
  #told(folder: string, name: string | null): void {
    const names = this.#folders.get(folder);
    if (name === null || names === undefined || names.has(name) || name.startsWith("..")) this.#changed();
  }
}
