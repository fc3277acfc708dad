import { closeSync, createReadStream, openSync, readFileSync, statSync, writeSync } from "node:fs";
import { join, posix } from "node:path";
import type { Readable } from "node:stream";
import type { ReadEntry } from "tar";
import { unreadable } from "./config.ts";
import { ImageError } from "./errors.ts";
import { tooLarge, type Limits } from "./limits.ts";
import { readTar, type TarFile } from "./tar-stream.ts";

/** The files of which an archive or a layout consists, by their paths in it. */
export interface Blobs {
  has(name: string): boolean;
  open(name: string): Readable;
  /** @throws {ImageError} for one that is larger than `mostBytes`, or not there. */
  text(name: string, mostBytes: number): string;
}

/** An OCI layout, or an unpacked docker archive. */
export function folderBlobs(folder: string): Blobs {
  return blobsAt(folder, (name) => {
    const path = join(folder, name);
    // A manifest names files of the image: no pipes, and none of this machine's own.
    const leadsOut = name.split("/").includes("..");
    return !leadsOut && statSync(path, { throwIfNoEntry: false })?.isFile() ? path : undefined;
  });
}

/**
 * The files of an archive, each copied to a file of a name of ours: theirs name nothing on this machine.
 * @param folder - an empty one.
 */
export async function archiveBlobs(
  source: Readable,
  folder: string,
  place: string,
  { limits, signal, onBytes }: { limits: Limits; signal: AbortSignal; onBytes: (bytes: number) => void },
): Promise<Blobs> {
  const files = new Map<string, string>();
  /** Old versions of docker keep a layer that occurs twice as a link. */
  const links = new Map<string, string>();
  let bytesRead = 0;
  const copy = (path: string): TarFile => {
    const file = openSync(path, "wx", 0o600);
    return {
      write: (bytes) => {
        bytesRead += bytes.length;
        onBytes(bytesRead);
        for (let from = 0; from < bytes.length;) from += writeSync(file, bytes, from);
      },
      end: () => closeSync(file),
      abandon: () => closeSync(file),
    };
  };
  const entry = ({ path, type, linkpath = "" }: ReadEntry): TarFile | undefined => {
    const name = posix.normalize(path).replace(/^\/+/, "");
    if (files.size + links.size > limits.layers * 8)
      throw tooLarge(place, "it holds too many files for an image");
    if (type === "Directory") return undefined;
    if (name.startsWith("..") || files.has(name) || links.has(name))
      throw refused(place, `${path} is in it twice, or leads out`);
    if (type === "SymbolicLink" || type === "Link") {
      const target = type === "Link" ? linkpath : posix.join(posix.dirname(name), linkpath);
      links.set(name, posix.normalize(target));
      return undefined;
    }
    if (!/^(?:Old|Contiguous)?File$/.test(type)) throw refused(place, `${path} is no file`);
    const file = join(folder, `blob-${files.size}`);
    files.set(name, file);
    return copy(file);
  };
  await readTar(source, { entry }, { place, limits, signal });
  return blobsAt(place, (name) => files.get(name) ?? files.get(links.get(name) ?? ""));
}

function blobsAt(place: string, find: (name: string) => string | undefined): Blobs {
  const must = (name: string): string => {
    const path = find(name);
    if (path === undefined) throw unreadable(place, `holds no ${name}`);
    return path;
  };
  return {
    has: (name) => find(name) !== undefined,
    open: (name) => createReadStream(must(name)),
    text: (name, mostBytes) => {
      const path = must(name);
      if (statSync(path).size > mostBytes) throw tooLarge(place, `${name} is larger than ${mostBytes} bytes`);
      return readFileSync(path, "utf8");
    },
  };
}

function refused(place: string, problem: string): ImageError {
  return new ImageError("LAMEDUCK_IMAGE_REFUSED", place, problem);
}
