import cluster from "node:cluster";
import { closeSync, constants, fstatSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { lutimes } from "node:fs/promises";
import { messageOf } from "@lameduck/drain/common";
import { formatDuration } from "@lameduck/drain";

/** How exactly it is known when a process was killed. */
const heartbeatPeriod = 1_000;

interface Record {
  /** Which process wrote it: in a container each is number 1. */
  readonly process: number;
  readonly reason: string;
  readonly at: number;
  readonly deadline: number;
}

/** A link would lead to somebody else's file, and opening a pipe would wait for its other end. */
const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = constants;
const reading = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
const making = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;

/**
 * SIGKILL leaves no last word. So a file is there from the signal to the end, touched every second: where one is found at the start, the process
 * before this one was killed, and the file says when. It must be on a volume that outlives the process,
 * and a local one: where opening it hangs, the process hangs.
 */
export class StopFile {
  readonly #path: string;
  readonly #say: (message: string) => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(path: string, say: (message: string) => void) {
    this.#path = path;
    this.#say = say;
  }

  /** Reports that the process before this one was killed. */
  read(): void {
    if (cluster.isWorker) return;
    try {
      const { text, modified } = contentOf(this.#path);
      if (!isOurs(text)) throw new Error(`${this.#path} holds something else and is left as it is`);
      if (isOfThisProcess(text)) return;
      rmSync(this.#path, { force: true });
      const record = JSON.parse(text) as Record;
      const uptime = modified - record.at;
      if (!Number.isFinite(uptime + record.deadline))
        throw new Error(`${this.#path} was cut short and is removed`);
      this.#say(
        `the process before this one was killed about ${spell(uptime)} after ${record.reason}, where it expected ${spell(record.deadline - record.at)}: ` +
          "check that LAMEDUCK_GRACE_PERIOD and LAMEDUCK_PRESTOP say what the pod has",
      );
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") this.#warn(error);
    }
  }

  /** @param untilDeadline milliseconds from now to SIGKILL. */
  begin(reason: string, untilDeadline: number): void {
    if (cluster.isWorker) return;
    const at = Date.now();
    const record: Record = { process: performance.timeOrigin, reason, at, deadline: at + untilDeadline };
    try {
      make(this.#path, JSON.stringify(record));
    } catch (error) {
      return this.#warn(error);
    }
    // The volume may hang later: touches are not waited for.
    this.#timer = setInterval(() => {
      const now = new Date();
      lutimes(this.#path, now, now).catch(() => {});
    }, heartbeatPeriod).unref();
    process.once("exit", this.#remove);
  }

  /** The process goes on. */
  end(): void {
    process.removeListener("exit", this.#remove);
    this.#remove();
  }

  readonly #remove = (): void => {
    if (!this.#timer) return;
    clearInterval(this.#timer);
    try {
      rmSync(this.#path, { force: true });
    } catch (error) {
      this.#warn(error);
    }
  };

  #warn(error: unknown): void {
    this.#say(`stopFile: ${messageOf(error)}`);
  }
}

const spell = (milliseconds: number): string => formatDuration(Math.round(milliseconds / 100) * 100);

function contentOf(path: string): { text: string; modified: number } {
  const file = openSync(path, reading);
  try {
    const status = fstatSync(file);
    if (!status.isFile()) throw new Error(`${path} is no regular file and is left as it is`);
    return { text: readFileSync(file, "utf8"), modified: status.mtimeMs };
  } finally {
    closeSync(file);
  }
}

/** The content that begin() writes, or the part of it that a killed process wrote. */
function isOurs(text: string): boolean {
  const start = '{"process":';
  return start.startsWith(text) || (text.startsWith(start) && text.length < 1_000);
}

function isOfThisProcess(text: string): boolean {
  return text.startsWith(`{"process":${performance.timeOrigin},`);
}

/** Another Lameduck of this process may have made it. @throws where something else is there. */
function make(path: string, text: string): void {
  let file: number;
  try {
    file = openSync(path, making, 0o644);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST" && isOfThisProcess(contentOf(path).text)) return;
    throw error;
  }
  try {
    writeSync(file, text);
  } finally {
    closeSync(file);
  }
}
