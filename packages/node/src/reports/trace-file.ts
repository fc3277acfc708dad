import { constants, type Stats } from "node:fs";
import { lstat, open, rename, stat, type FileHandle } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";

/** Neither through a link, which would lead to somebody else's file, nor into a pipe, whose opening waits for its other end. */
const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = constants;
const making = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK;
const reading = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;

/** How every trace begins. It distinguishes a trace from another program's file. */
const beginning = '{"lameduck":"trace"';

/**
 * A new file for a trace; in a directory, one for each process. A trace that is there already is kept as "PATH.1". Addresses of clients are nobody
 * else's business, hence the mode.
 * @throws where something else is there, or the file cannot be made.
 */
export async function makeTraceFile(place: string): Promise<FileHandle> {
  const path = (await statOf(place, stat))?.isDirectory()
    ? join(place, `lameduck-${hostname()}-${process.pid}.jsonl`)
    : place;
  await makeRoom(path);
  return open(path, making, 0o600);
}

async function makeRoom(path: string): Promise<void> {
  if (!(await isThere(path))) return;
  const older = `${path}.1`;
  await isThere(older);
  await rename(path, older);
}

/** @throws where what is there is no trace. */
async function isThere(path: string): Promise<boolean> {
  const status = await statOf(path, lstat);
  if (!status) return false;
  if (!status.isFile()) throw new Error(`${path} is no regular file and is left as it is`);
  const file = await open(path, reading);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(beginning.length), 0, beginning.length, 0);
    if (!beginning.startsWith(buffer.toString("latin1", 0, bytesRead)))
      throw new Error(`${path} holds something else and is left as it is`);
    return true;
  } finally {
    await file.close();
  }
}

async function statOf(path: string, look: (path: string) => Promise<Stats>): Promise<Stats | undefined> {
  try {
    return await look(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
