import { createHash } from "node:crypto";
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  futimesSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeSync,
} from "node:fs";
import { join, posix } from "node:path";
import type { Readable } from "node:stream";
import type { ReadEntry } from "tar";
import { ImageError } from "./errors.ts";
import { findIn, lookedAt } from "./in-root.ts";
import { spellBytes, tooLarge, type Limits } from "./limits.ts";
import { readTar, type TarFile, type TarReader } from "./tar-stream.ts";

interface UnpackOptions {
  readonly limits: Limits;
  readonly signal: AbortSignal;
  /** Told now and then how many bytes have been written since the first layer. */
  readonly onProgress: (bytes: number) => void;
  /** Whether files get the owners that the archive names. Only root can give them. */
  readonly owners: boolean;
}

export interface Layer {
  /** Named in errors. */
  readonly place: string;
  /** "sha256:..." of the layer as it is before any compression. */
  readonly digest: string;
  readonly open: () => Readable;
}

/** As in every file system of Linux. */
const mostNameBytes = 255;

/** Their permissions beyond read, write and execute: the sticky bit stays, set-user-ID and set-group-ID do not. */
const keptMode = 0o1777;

/**
 * Lays the layers of an image over each other in an empty folder. What is there afterwards is plain: files, folders and links. Set-user-ID
 * bits, extended attributes and devices are not taken over; devices outside of `/dev` are refused.
 * @throws {ImageError} LAMEDUCK_IMAGE_REFUSED, LAMEDUCK_IMAGE_TOO_LARGE, LAMEDUCK_IMAGE_UNREADABLE
 */
export class Unpacker {
  readonly #root: string;
  readonly #options: UnpackOptions;
  #entries = 0;
  bytes = 0;

  constructor(root: string, options: UnpackOptions) {
    this.#root = root;
    this.#options = options;
  }

  async layer({ place, digest, open }: Layer): Promise<void> {
    const { limits, signal } = this.#options;
    const hash = createHash("sha256");
    const layer = new LayerReader(this, this.#root, place, this.#options);
    await readTar(open(), layer, { place, limits, signal, onBytes: (bytes) => hash.update(bytes) });
    layer.finish();
    const found = `sha256:${hash.digest("hex")}`;
    if (found !== digest)
      throw new ImageError(
        "LAMEDUCK_IMAGE_REFUSED",
        place,
        `it is not what the image says: ${found} instead of ${digest}`,
      );
  }

  countEntry(place: string): void {
    const { entries } = this.#options.limits;
    if (++this.#entries > entries)
      throw tooLarge(place, `the image has more than ${entries} files and folders`);
  }

  countBytes(place: string, bytes: number): void {
    const { limits, onProgress } = this.#options;
    this.bytes += bytes;
    if (this.bytes > limits.bytes)
      throw tooLarge(place, `the image's files are larger than ${spellBytes(limits.bytes)} together`);
    onProgress(this.bytes);
  }
}

const whiteout = ".wh.";
const opaque = ".wh..wh..opq";

class LayerReader implements TarReader {
  readonly #count: Unpacker;
  readonly #root: string;
  readonly #place: string;
  readonly #options: UnpackOptions;
  /** What this layer has brought: its own whiteouts are about the layers below. */
  readonly #own = new Set<string>();
  /** Set at the end: a folder may be read-only, and files come into it. */
  readonly #folders = new Map<string, ReadEntry>();

  constructor(count: Unpacker, root: string, place: string, options: UnpackOptions) {
    this.#count = count;
    this.#root = root;
    this.#place = place;
    this.#options = options;
  }

  entry(entry: ReadEntry): TarFile | undefined {
    this.#options.signal.throwIfAborted();
    this.#count.countEntry(this.#place);
    const path = this.#checked(entry.path, entry.path);
    if (path === "/") {
      if (isFolder(entry)) this.#folders.set("/", entry);
      return undefined;
    }
    const name = posix.basename(path);
    const parent = this.#folderFor(posix.dirname(path), entry.path);
    if (name === opaque) this.#hideAll(parent);
    else if (name.startsWith(`${whiteout}${whiteout}`)) return undefined;
    else if (name.startsWith(whiteout)) this.#hide(parent, name.slice(whiteout.length), entry.path);
    else return this.#write(entry, parent === "/" ? `/${name}` : `${parent}/${name}`);
    return undefined;
  }

  /** What was held back until all files are there. Deepest folders first: a folder that may not be entered ends the way. */
  finish(): void {
    for (const [path, entry] of [...this.#folders].reverse()) {
      const full = this.#full(path);
      // A later entry may have put a link on the way, or in its place.
      if (findIn(this.#root, path)?.path !== path || !lookedAt(full)?.isDirectory()) continue;
      this.#setOwner(full, entry);
      chmodSync(full, this.#mode(entry, 0o755, 0o700));
    }
  }

  #write(entry: ReadEntry, path: string): TarFile | undefined {
    const full = this.#full(path);
    switch (entry.type) {
      case "Directory":
      case "GNUDumpDir":
        this.#makeFolder(path, full);
        this.#folders.delete(path);
        this.#folders.set(path, entry);
        break;
      case "File":
      case "OldFile":
      case "ContiguousFile":
        this.#replace(path, full);
        this.#own.add(path);
        return this.#file(entry, full);
      case "SymbolicLink":
        this.#replace(path, full);
        symlinkSync(this.#linkText(entry), full);
        this.#setOwner(full, entry);
        break;
      case "Link": {
        const target = this.#linked(entry);
        // A link to itself is there already.
        if (target === path) break;
        this.#replace(path, full);
        linkSync(this.#full(target), full);
        break;
      }
      default:
        // /dev is the lab's own in any case.
        if (path.startsWith("/dev/") && /Device$|^FIFO$/.test(entry.type)) break;
        throw this.#refused(
          `${entry.path} is ${spelledType(entry.type)}, which no image needs outside of /dev`,
        );
    }
    this.#own.add(path);
    return undefined;
  }

  #file(entry: ReadEntry, full: string): TarFile {
    const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
    const file = openSync(full, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    const close = (): void => closeSync(file);
    return {
      write: (bytes) => {
        this.#count.countBytes(this.#place, bytes.length);
        for (let from = 0; from < bytes.length;) from += writeSync(file, bytes, from);
      },
      end: () => {
        try {
          if (this.#options.owners) fchownSync(file, ownerOf(entry.uid), ownerOf(entry.gid));
          fchmodSync(file, this.#mode(entry, 0o644, 0o400));
          // Compiled Python is good for sources of one time only.
          const seconds = (entry.mtime?.getTime() ?? 0) / 1_000;
          if (Number.isFinite(seconds)) futimesSync(file, seconds, seconds);
        } finally {
          close();
        }
      },
      abandon: close,
    };
  }

  /** The names of a path of the archive, without those that say nothing. @throws for one that leads out, or that no kernel takes. */
  #checked(text: string, shown: string): string {
    const { pathBytes, depth } = this.#options.limits;
    if (text === "" || text.includes("\0")) throw this.#refused("a path is empty or holds a NUL");
    if (Buffer.byteLength(text) > pathBytes) throw this.#refused(`a path is longer than ${pathBytes} bytes`);
    const names = text.split("/").filter((one) => one !== "" && one !== ".");
    if (names.includes("..")) throw this.#refused(`the path ${shown} leads out with ..`);
    if (names.length > depth) throw this.#refused(`a path has more than ${depth} folders`);
    if (names.some((one) => Buffer.byteLength(one) > mostNameBytes))
      throw this.#refused(`a name is longer than ${mostNameBytes} bytes`);
    return `/${names.join("/")}`;
  }

  /** The folder in which an entry goes, with links followed inside the root, and made where it is missing. */
  #folderFor(path: string, shown: string): string {
    const found = findIn(this.#root, path);
    if (!found) throw this.#refused(`links on the way to ${shown} lead in a circle`);
    if (found.climbs) throw this.#refused(`${shown} would be written through a link that leads out`);
    if (!found.exists) this.#makeFolder(found.path, this.#full(found.path));
    else if (!lstatSync(this.#full(found.path)).isDirectory())
      throw this.#refused(`${shown} lies in what is no folder`);
    return found.path;
  }

  #makeFolder(path: string, full: string): void {
    const there = lookedAt(full);
    if (there?.isDirectory()) return;
    if (there) this.#replace(path, full);
    const parent = posix.dirname(path);
    const above = lookedAt(this.#full(parent));
    if (above && !above.isDirectory()) throw this.#refused(`${path} lies in what is no folder`);
    if (!above) {
      this.#count.countEntry(this.#place);
      this.#makeFolder(parent, this.#full(parent));
    }
    mkdirSync(full, { mode: 0o755 });
    this.#own.add(path);
  }

  #replace(path: string, full: string): void {
    rmSync(full, { recursive: true, force: true });
    this.#folders.delete(path);
  }

  /** The text of a symbolic link may be anything: whoever follows it later does so inside the container. */
  #linkText({ linkpath = "", path }: ReadEntry): string {
    if (
      linkpath === "" ||
      linkpath.includes("\0") ||
      Buffer.byteLength(linkpath) >= this.#options.limits.pathBytes
    )
      throw this.#refused(`the link ${path} leads to an impossible path`);
    return linkpath;
  }

  /** Where a hard link leads: to a file that is there, in the root. */
  #linked({ linkpath = "", path }: ReadEntry): string {
    const target = this.#checked(linkpath, linkpath);
    const found = findIn(this.#root, target, { last: false });
    if (!found || found.climbs) throw this.#refused(`the hard link ${path} leads out`);
    const stat = found.exists ? lstatSync(this.#full(found.path)) : undefined;
    if (!stat || stat.isDirectory())
      throw this.#refused(`the hard link ${path} leads to ${linkpath}, which is no file of the image`);
    return found.path;
  }

  #hide(parent: string, name: string, shown: string): void {
    if (name === "" || name === "." || name === "..") throw this.#refused(`${shown} deletes no file`);
    const path = parent === "/" ? `/${name}` : `${parent}/${name}`;
    if (!this.#own.has(path)) rmSync(this.#full(path), { recursive: true, force: true });
  }

  #hideAll(parent: string): void {
    for (const name of readdirSync(this.#full(parent))) {
      const path = parent === "/" ? `/${name}` : `${parent}/${name}`;
      const full = this.#full(path);
      if (!this.#own.has(path)) rmSync(full, { recursive: true, force: true });
      else if (lstatSync(full).isDirectory()) this.#hideAll(path);
    }
  }

  #setOwner(full: string, { uid, gid }: ReadEntry): void {
    if (this.#options.owners) lchownSync(full, ownerOf(uid), ownerOf(gid));
  }

  /** @param least what the cache itself needs, where its files belong to an ordinary user. */
  #mode({ mode }: ReadEntry, usual: number, least: number): number {
    return ((mode ?? usual) & keptMode) | (this.#options.owners ? 0 : least);
  }

  #full(path: string): string {
    const full = join(this.#root, path);
    // Links lead to paths that are longer than what the archive names.
    if (Buffer.byteLength(full) >= this.#options.limits.pathBytes)
      throw this.#refused("a path is too long in the folder of the store");
    return full;
  }

  #refused(problem: string): ImageError {
    return new ImageError("LAMEDUCK_IMAGE_REFUSED", this.#place, problem);
  }
}

function isFolder({ type }: ReadEntry): boolean {
  return type === "Directory" || type === "GNUDumpDir";
}

/** -1 and what no 32 bits hold would be another owner, or none. */
function ownerOf(id: number | undefined): number {
  return id !== undefined && Number.isInteger(id) && id >= 0 && id < 2 ** 32 - 1 ? id : 0;
}

function spelledType(type: string): string {
  if (type.endsWith("Device")) return "a device";
  return type === "FIFO" ? "a pipe" : `of the kind ${type}`;
}
