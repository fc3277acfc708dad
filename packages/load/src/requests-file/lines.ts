import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { constants, createGunzip } from "node:zlib";
import { fileProblem } from "@lameduck/drain/common";
import { RequestsError } from "./errors.ts";

/** Lines as they come; the last one of the last batch is unfinished where no line end follows it. */
export interface Lines {
  readonly lines: readonly string[];
  /** Number of the first of them, from 1. */
  readonly first: number;
  readonly unfinished: boolean;
}

/** vegeta keeps whole answers in a line; answers in a load test are smaller than this. */
const longestLine = 64 * 1024 * 1024;
const chunkSize = 1024 * 1024;

/** Reads a file of any size; unpacks gzip and understands the UTF-16 that PowerShell writes. */
export async function* readLines(file: string): AsyncGenerator<Lines> {
  try {
    yield* split(decoded(await unpacked(bytesOf(file), file), file), file);
  } catch (error) {
    if (error instanceof RequestsError) throw error;
    throw new RequestsError("LAMEDUCK_REQUESTS_UNREADABLE", file, wordsOf(error), { cause: error });
  }
}

function wordsOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code?.startsWith("Z_") ? `is a damaged gzip file (${message})` : fileProblem(error);
}

function bytesOf(file: string): AsyncIterator<Buffer> {
  const stream = createReadStream(file, { highWaterMark: chunkSize });
  return (stream as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
}

/** Recognised by its first bytes, not by its name. */
async function unpacked(bytes: AsyncIterator<Buffer>, file: string): Promise<AsyncIterable<Buffer>> {
  let start = Buffer.alloc(0);
  while (start.length < 4) {
    const next = await bytes.next();
    if (next.done === true) break;
    start = Buffer.concat([start, next.value]);
  }
  const all = after(start, bytes);
  if (start[0] === 0x1f && start[1] === 0x8b)
    // Of a file that is cut, as that of a tool that was killed, everything up to the cut is read.
    return Readable.from(all).compose(createGunzip({ finishFlush: constants.Z_SYNC_FLUSH }));
  if (otherArchives.some((magic) => start.subarray(0, magic.length).equals(magic)))
    throw new RequestsError(
      "LAMEDUCK_REQUESTS_UNREADABLE",
      file,
      "is compressed otherwise than by gzip: unpack it first",
    );
  return all;
}

/** zip, zstd, xz, bzip2. */
const otherArchives = ["504b0304", "28b52ffd", "fd377a58", "425a68"].map((hex) => Buffer.from(hex, "hex"));

async function* after(start: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    if (start.length > 0) yield start;
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

async function* decoded(bytes: AsyncIterable<Buffer>, file: string): AsyncGenerator<string> {
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  for await (const chunk of bytes) {
    if (!decoder) {
      decoder = new TextDecoder(encodingOf(chunk));
      refuseBinary(chunk, decoder.encoding, file);
    }
    yield decoder.decode(chunk, { stream: true });
  }
  if (decoder) yield decoder.decode();
}

function encodingOf(start: Buffer): string {
  if (start[0] === 0xff && start[1] === 0xfe) return "utf-16le";
  return start[0] === 0xfe && start[1] === 0xff ? "utf-16be" : "utf-8";
}

function refuseBinary(chunk: Buffer, encoding: string, file: string): void {
  const start = chunk.subarray(0, 512);
  if (encoding !== "utf-8" || !start.some((byte) => byte < 9 || (byte > 13 && byte < 32))) return;
  const text = start.toString("latin1");
  const problem =
    text.includes("Attack") && text.includes("Latency")
      ? "is vegeta's binary form: write `vegeta encode FILE > FILE.jsonl` and give that"
      : "is not a text file";
  throw new RequestsError("LAMEDUCK_REQUESTS_UNKNOWN_FORMAT", file, problem);
}

async function* split(texts: AsyncIterable<string>, file: string): AsyncGenerator<Lines> {
  let rest: string[] = [];
  let length = 0;
  let first = 1;
  for await (const text of texts) {
    const end = text.lastIndexOf("\n");
    if (end === -1) {
      rest.push(text);
      length += text.length;
      if (length > longestLine)
        throw new RequestsError("LAMEDUCK_REQUESTS_BAD_LINE", `${file}:${first}`, "is longer than 64 MiB");
      continue;
    }
    const lines = (rest.join("") + text.slice(0, end)).split("\n").map(withoutReturn);
    rest = [text.slice(end + 1)];
    length = text.length - end - 1;
    yield { lines, first, unfinished: false };
    first += lines.length;
  }
  const last = rest.join("");
  if (last !== "") yield { lines: [withoutReturn(last)], first, unfinished: true };
}

const withoutReturn = (line: string): string => (line.endsWith("\r") ? line.slice(0, -1) : line);
