import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { userInfo } from "node:os";
import { isAbsolute, join } from "node:path";
import { fileProblem } from "@lameduck/drain/common";
import type { ImageConfig } from "./config.ts";
import { ImageError } from "./errors.ts";

/** An image as it lies in the store. */
export interface Stored {
  /** Of its configuration, without "sha256:". */
  readonly digest: string;
  /** Under which it was asked for last. */
  readonly name: string;
  /** What it was made from: IDs of engines, files with their sizes and times. */
  readonly keys: readonly string[];
  readonly bytes: number;
  readonly config: ImageConfig;
}

/** All images together; older ones go first. */
export const mostStoredBytes = 12 * 2 ** 30;

const description = "image.json";
const temporary = /^tmp-(\d+)-/;

/**
 * Unpacked images of one user, by the digest of their configuration. An image is there whole or not at all. What an ended process has left
 * half done is removed by the next one.
 */
export class ImageStore {
  readonly folder: string;
  readonly #most: number;
  readonly #used = new Set<string>();

  /** @throws {ImageError} LAMEDUCK_IMAGE_CACHE */
  constructor(folder = usualFolder(), most = mostStoredBytes) {
    this.folder = folder;
    this.#most = most;
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      // Other users are not to reach files of an image, which may be anybody's.
      const { uid } = lstatSync(folder);
      if (uid !== process.getuid?.()) throw new Error("belongs to another user");
      chmodSync(folder, 0o700);
    } catch (error) {
      throw new ImageError("LAMEDUCK_IMAGE_CACHE", folder, fileProblem(error));
    }
    this.#removeLeftovers();
  }

  /** Those there are, the one used last first. */
  list(): (Stored & { readonly usedAt: Date; readonly isInUse: boolean })[] {
    return this.#names()
      .flatMap((name) => {
        const stored = this.#read(name);
        const usedAt = statSync(join(this.folder, name), { throwIfNoEntry: false })?.mtime;
        return stored && usedAt ? [{ ...stored, usedAt, isInUse: this.#users(name).length > 0 }] : [];
      })
      .sort((a, b) => b.usedAt.getTime() - a.usedAt.getTime());
  }

  /** The image that was made from what a key names. */
  find(key: string): Stored | undefined {
    return this.list().find(({ keys }) => keys.includes(key));
  }

  has(digest: string): boolean {
    return this.#read(digest) !== undefined;
  }

  rootOf(digest: string): string {
    return join(this.folder, digest, "root");
  }

  /** Keeps an image from being removed as long as this process lives, or until `release`. @returns whether it is still there. */
  use(digest: string): boolean {
    const folder = join(this.folder, digest);
    try {
      writeFileSync(join(folder, `used-${process.pid}`), "");
      utimesSync(folder, new Date(), new Date());
    } catch {
      return false;
    }
    this.#used.add(digest);
    return true;
  }

  release(): void {
    for (const digest of this.#used)
      rmSync(join(this.folder, digest, `used-${process.pid}`), { force: true });
    this.#used.clear();
  }

  /** A folder for what is under way. @returns with `remove`, which takes away what is still there. */
  workspace(): { readonly folder: string; remove(): void } {
    const folder = mkdtempSync(join(this.folder, `tmp-${process.pid}-`));
    return { folder, remove: () => removeAll(folder) };
  }

  /** Takes a root file system over from a workspace. Whoever comes second finds it there, and that is as good. */
  keep(workspace: string, root: string, stored: Stored): void {
    const made = join(workspace, "made");
    mkdirSync(made);
    renameSync(root, join(made, "root"));
    writeFileSync(join(made, description), JSON.stringify(stored));
    const kept = join(this.folder, stored.digest);
    try {
      renameSync(made, kept);
    } catch (error) {
      if (this.has(stored.digest)) return;
      // What has no description is found by nobody. A machine that lost its power may have left it.
      if (!this.#remove(stored.digest)) throw error;
      renameSync(made, kept);
    }
  }

  /** The image is also what another key names. */
  addKey(digest: string, key: string, name: string): void {
    const stored = this.#read(digest);
    if (!stored || (stored.keys.includes(key) && stored.name === name)) return;
    const keys = [...new Set([...stored.keys, key])].slice(-16);
    const file = join(this.folder, digest, description);
    writeFileSync(`${file}-${process.pid}`, JSON.stringify({ ...stored, keys, name }));
    renameSync(`${file}-${process.pid}`, file);
  }

  /** Removes those that were used longest ago until the rest is small enough. Nothing goes that some process uses. */
  shrink(most = this.#most): number {
    let [sum, removed] = [0, 0];
    for (const { digest, bytes, isInUse } of this.list()) {
      // An image of links and folders alone has no byte.
      sum += bytes + 1;
      if (sum <= most || isInUse) continue;
      if (this.#remove(digest)) removed++;
      sum -= bytes + 1;
    }
    return removed;
  }

  /** @returns false where there is none: another process may have been faster. */
  #remove(name: string): boolean {
    const away = this.workspace();
    try {
      // Away by one step: nobody finds half an image.
      renameSync(join(this.folder, name), join(away.folder, "image"));
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
      throw error;
    } finally {
      away.remove();
    }
  }

  #names(): string[] {
    return readdirSync(this.folder).filter((name) => /^[0-9a-f]{64}$/.test(name));
  }

  #read(name: string): Stored | undefined {
    try {
      return JSON.parse(readFileSync(join(this.folder, name, description), "utf8")) as Stored;
    } catch {
      return undefined;
    }
  }

  #users(name: string): number[] {
    // Another process may have removed it meanwhile.
    const files = existsSync(join(this.folder, name)) ? readdirSync(join(this.folder, name)) : [];
    const users = files.flatMap((one) => /^used-(\d+)$/.exec(one)?.[1] ?? []);
    return users.map(Number).filter((pid) => {
      if (isAlive(pid)) return true;
      rmSync(join(this.folder, name, `used-${pid}`), { force: true });
      return false;
    });
  }

  #removeLeftovers(): void {
    for (const name of readdirSync(this.folder)) {
      const pid = temporary.exec(name)?.[1];
      if (pid !== undefined && !isAlive(Number(pid))) removeAll(join(this.folder, name));
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Also what may not be entered: folders of an image or a pod have the permissions that these want. */
export function removeAll(folder: string): void {
  if (!existsSync(folder)) return;
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    openFolders(folder);
    rmSync(folder, { recursive: true, force: true });
  }
}

function openFolders(folder: string): void {
  chmodSync(folder, 0o700);
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) openFolders(join(folder, entry.name));
}

/** Root's own, whoever became root: files of root in the folder of another user would be in that user's way. */
function usualFolder(env: NodeJS.ProcessEnv = process.env): string {
  const given = env["XDG_CACHE_HOME"];
  const base = given !== undefined && isAbsolute(given) ? given : join(userInfo().homedir, ".cache");
  return join(base, "lameduck", "images");
}
