import { open, type FileHandle } from "node:fs/promises";
import { createHash, type Hash } from "node:crypto";

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

const typeFlags = { file: "0", directory: "5" } as const;

function header(entry: TarEntry, size: number): Buffer {
  const type = entry.type ?? "file";
  const bytes = Buffer.alloc(block);
  const { prefix, name } = splitName(type === "directory" ? `${entry.path}/` : entry.path);
  const octal = (value: number, offset: number, length: number): void => {
    bytes.write(`${value.toString(8).padStart(length - 1, "0")}\0`, offset, "latin1");
  };
  bytes.write(name, 0, "utf8");
  octal(entry.mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  bytes.write("        ", 148, "latin1");
  bytes.write(typeFlags[type], 156, "latin1");
  bytes.write("ustar\x0000", 257, "latin1");
  bytes.write(prefix, 345, "utf8");
  const checksum = bytes.reduce((sum, byte) => sum + byte, 0);
  bytes.write(`${checksum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return bytes;
}

/** ustar holds 100 bytes of name and 155 of the directories before it. */
function splitName(path: string): { prefix: string; name: string } {
  if (Buffer.byteLength(path) <= 100) return { prefix: "", name: path };
  for (let slash = path.indexOf("/"); slash > 0; slash = path.indexOf("/", slash + 1)) {
    const [prefix, name] = [path.slice(0, slash), path.slice(slash + 1)];
    if (Buffer.byteLength(name) <= 100 && Buffer.byteLength(prefix) <= 155) return { prefix, name };
  }
  throw new RangeError(`path too long for a ustar archive: ${path}`);
}
