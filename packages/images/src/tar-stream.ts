import { messageOf } from "@lameduck/drain/common";
import { pipeline, Readable, type Transform } from "node:stream";
import * as zlib from "node:zlib";
import { Parser, type ReadEntry } from "tar";
import { unreadable } from "./config.ts";
import { ImageError, ofFiles } from "./errors.ts";
import { spellBytes, tooLarge, type Limits } from "./limits.ts";

/** Receives the entries of an archive, one after the other. Both may throw: nothing more is read then. */
export interface TarReader {
  /** @returns what takes the entry's bytes; undefined where it has none, or they are not wanted. */
  entry(entry: ReadEntry): TarFile | undefined;
}

export interface TarFile {
  write(bytes: Buffer): void;
  /** All bytes have come. */
  end(): void;
  /** No more will come. */
  abandon(): void;
}

interface TarOptions {
  /** Named in errors. */
  readonly place: string;
  readonly limits: Limits;
  readonly signal: AbortSignal;
  /** Told of every piece of the archive, decompressed. */
  readonly onBytes?: (bytes: Buffer) => void;
}

/**
 * Reads a tar archive, compressed by gzip or zstd or not at all, to its end.
 * @throws {ImageError} LAMEDUCK_IMAGE_UNREADABLE for what is no whole archive, LAMEDUCK_IMAGE_TOO_LARGE for a bomb; what `reader` throws
 */
export async function readTar(source: Readable, reader: TarReader, options: TarOptions): Promise<void> {
  const { place, limits, signal, onBytes } = options;
  let failure: unknown;
  const fail = (error: unknown): void => {
    failure ??= ofFiles(error, place);
  };
  let open: TarFile | undefined;
  const parser = new Parser({
    // The library would look for a compression by itself, and count nothing.
    gzip: false,
    brotli: false,
    zstd: false,
    maxMetaEntrySize: limits.jsonBytes,
    onwarn: (_code: string, message: string | Error) => fail(unreadable(place, messageOf(message))),
    onReadEntry: (entry: ReadEntry) => {
      let file: TarFile | undefined;
      if (failure === undefined) attempt(() => (file = reader.entry(entry)));
      open = file;
      entry.on("data", (bytes: Buffer) => {
        if (failure === undefined) attempt(() => file?.write(bytes));
      });
      entry.on("end", () => {
        open = undefined;
        if (failure === undefined) attempt(() => file?.end());
        else file?.abandon();
      });
    },
  });
  const attempt = (act: () => void): void => {
    try {
      act();
    } catch (error) {
      fail(error);
    }
  };
  parser.on("error", fail);
  const ended = new Promise<void>((resolve) => parser.on("end", () => resolve()));
  let size = 0;
  const counted = new Counted(source, place, limits);
  try {
    for await (const bytes of counted.decompressed()) {
      signal.throwIfAborted();
      size += bytes.length;
      if (size > limits.bytes) throw tooLarge(place, `it is larger than ${spellBytes(limits.bytes)}`);
      onBytes?.(bytes);
      parser.write(bytes);
      if (failure !== undefined) throw failure;
    }
    if (size === 0) throw unreadable(place, "is empty");
    parser.end();
    await ended;
    if (failure !== undefined) throw failure;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ImageError) throw error;
    throw unreadable(place, messageOf(error));
  } finally {
    open?.abandon();
    counted.close();
  }
}

/** The bytes of a source, decompressed, with an eye on how many they become. */
class Counted {
  readonly #source: Readable;
  readonly #place: string;
  readonly #limits: Limits;
  #decoder: Transform | undefined;
  #came = 0;
  #became = 0;

  constructor(source: Readable, place: string, limits: Limits) {
    this.#source = source;
    this.#place = place;
    this.#limits = limits;
  }

  async *decompressed(): AsyncGenerator<Buffer> {
    const source = this.#source[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    const first = await beginningOf(source);
    const decoder = decoderOf(first, this.#place);
    if (!decoder) {
      if (first.length > 0) yield first;
      for (let next = await source.next(); !next.done; next = await source.next()) yield next.value;
      return;
    }
    this.#decoder = decoder;
    // Whatever goes wrong comes out of the decoder, too.
    pipeline(Readable.from(this.#counted(first, source)), decoder, () => undefined);
    for await (const bytes of decoder as AsyncIterable<Buffer>) {
      this.#became += bytes.length;
      const { ratio, freeBytes } = this.#limits;
      if (this.#became > freeBytes && this.#became > this.#came * ratio)
        throw tooLarge(this.#place, `a byte of it becomes more than ${ratio} when it is decompressed`);
      yield bytes;
    }
  }

  close(): void {
    this.#decoder?.destroy();
    this.#source.destroy();
  }

  async *#counted(first: Buffer, source: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
    this.#came = first.length;
    yield first;
    for (let next = await source.next(); !next.done; next = await source.next()) {
      this.#came += next.value.length;
      yield next.value;
    }
  }
}

/** Enough to tell a compression by. */
async function beginningOf(source: AsyncIterator<Buffer>): Promise<Buffer> {
  let first = Buffer.alloc(0);
  while (first.length < 4) {
    const { value, done } = await source.next();
    if (done) break;
    first = Buffer.concat([first, value]);
  }
  return first;
}

function decoderOf(first: Buffer, place: string): Transform | undefined {
  const magic = first.subarray(0, 4).toString("hex");
  if (magic.startsWith("1f8b")) return zlib.createGunzip();
  if (magic === "28b52ffd") {
    if (typeof zlib.createZstdDecompress !== "function")
      throw unreadable(
        place,
        `is compressed by zstd, which Node ${process.version} cannot read; use Node 22.15 or newer`,
      );
    return zlib.createZstdDecompress();
  }
  if (magic.startsWith("425a68") || magic === "fd377a58")
    throw unreadable(place, "is compressed by bzip2 or xz, which image archives are not");
  return undefined;
}
