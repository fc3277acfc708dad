import { open, type FileHandle } from "node:fs/promises";
import { createHash, type Hash } from "node:crypto";
import { Header } from "tar";

export interface TarEntry {
  /** Path in the archive, without a leading slash. */
  readonly path: string;
  readonly mode: number;
  readonly content?: Buffer;
  readonly type?: "file" | "directory";
}

const block = 512;

/** A ustar archive written entry by entry, hashed on the way. Times are zero and owners root, so that equal content gives equal digests. */
export class TarWriter {
  readonly #file: FileHandle;
  readonly #hash: Hash = createHash("sha256");
  size = 0;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  static async create(path: string): Promise<TarWriter> {
    return new TarWriter(await open(path, "w"));
  }

  async add(entry: TarEntry): Promise<void> {
    const content = entry.content ?? Buffer.alloc(0);
    await this.#write(header(entry, content.length));
    await this.#write(content);
    await this.#write(Buffer.alloc((block - (content.length % block)) % block));
  }

  /** Ends the archive; returns its digest. */
  async end(): Promise<string> {
    await this.#write(Buffer.alloc(2 * block));
    await this.#file.close();
    return `sha256:${this.#hash.digest("hex")}`;
  }

  async #write(bytes: Buffer): Promise<void> {
    if (bytes.length === 0) return;
    this.#hash.update(bytes);
    this.size += bytes.length;
    await this.#file.appendFile(bytes);
  }
}

function header({ path, mode, type = "file" }: TarEntry, size: number): Buffer {
  const bytes = Buffer.alloc(block);
  const isDirectory = type === "directory";
  const written = new Header({
    path: isDirectory ? `${path}/` : path,
    type: isDirectory ? "Directory" : "File",
    mode,
    size,
    uid: 0,
    gid: 0,
    mtime: new Date(0),
  });
  // ustar holds 100 bytes of name and 155 of the directories before it; numbers are small.
  if (written.encode(bytes)) throw new RangeError(`path too long for a ustar archive: ${path}`);
  return bytes;
}
