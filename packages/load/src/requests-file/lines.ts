import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { constants, createGunzip } from "node:zlib";
import { fileProblem } from "@lameduck/drain/common";
import { RequestsError } from "./errors.ts";

/** Lines as they come; the last one of the last batch is unfinished where no line end follows it. */
interface Lines {
  readonly lines: readonly string[];
  /** Number of the first of them, from 1. */
  readonly first: number;
  readonly unfinished: boolean;
}

/** vegeta keeps whole answers in a line; answers in a load test are smaller than this. */
const longestLineChars = 64 * 1024 * 1024;
const chunkBytes = 1024 * 1024;

/** Reads a file of any size, packed by gzip or not. */
export async function* readLines(file: string): AsyncGenerator<Lines> {
  try {
    yield* split(decoded(await unpacked(bytesOf(file)), file), file);
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
  const stream = createReadStream(file, { highWaterMark: chunkBytes });
  return (stream as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
}

/** Recognised by its first bytes, not by its name. */
async function unpacked(bytes: AsyncIterator<Buffer>): Promise<AsyncIterable<Buffer>> {
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
  return all;
}

async function* after(start: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    if (start.length > 0) yield start;
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

async function* decoded(bytes: AsyncIterable<Buffer>, file: string): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let begun = false;
  for await (const chunk of bytes) {
    if (!begun && chunk.subarray(0, 512).some((byte) => byte < 9 || (byte > 13 && byte < 32)))
      throw new RequestsError("LAMEDUCK_REQUESTS_UNKNOWN_FORMAT", file, "is not a text file in UTF-8");
    begun = true;
    yield decoder.decode(chunk, { stream: true });
  }
  yield decoder.decode();
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
      if (length > longestLineChars)
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
