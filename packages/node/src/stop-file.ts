import cluster from "node:cluster";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { utimes } from "node:fs/promises";
import { formatDuration } from "@lameduck/drain";
import { messageOf } from "./hooks.ts";

/** How exactly it is known when a process was killed. */
const beat = 1_000;

interface Record {
  /** Which process wrote it: in a container each is number 1. */
  readonly process: number;
  readonly reason: string;
  readonly at: number;
  readonly deadline: number;
}

/**
 * SIGKILL leaves no last word. So a file is there from the signal to the end, touched every second: where one is found at the start, the process
 * before this one was killed, and the file says when. It must be on a volume that outlives the process.
 */
export class StopFile {
  readonly #path: string;
  readonly #say: (message: string) => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(path: string, say: (message: string) => void) {
    this.#path = path;
    this.#say = say;
  }

  /** Tells of a process before this one that was killed. */
  read(): void {
    if (cluster.isWorker) return;
    try {
      const record = JSON.parse(readFileSync(this.#path, "utf8")) as Record;
      if (record.process === performance.timeOrigin) return;
      const lived = statSync(this.#path).mtimeMs - record.at;
      rmSync(this.#path, { force: true });
      this.#say(
        `the process before this one was killed about ${spell(lived)} after ${record.reason}, where it expected ${spell(record.deadline - record.at)}: ` +
          "check that LAMEDUCK_GRACE_PERIOD and LAMEDUCK_PRESTOP say what the pod has",
      );
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") this.#complain(error);
    }
  }

  /** @param untilDeadline milliseconds from now to SIGKILL. */
  begin(reason: string, untilDeadline: number): void {
    if (cluster.isWorker) return;
    const at = Date.now();
    const record: Record = { process: performance.timeOrigin, reason, at, deadline: at + untilDeadline };
    try {
      writeFileSync(this.#path, JSON.stringify(record));
    } catch (error) {
      return this.#complain(error);
    }
    // Not awaited: a volume that hangs must not stop the process.
    this.#timer = setInterval(() => {
      const now = new Date();
      utimes(this.#path, now, now).catch(() => {});
    }, beat).unref();
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
      this.#complain(error);
    }
  };

  #complain(error: unknown): void {
    this.#say(`stopFile: ${messageOf(error)}`);
  }
}

const spell = (milliseconds: number): string => formatDuration(Math.round(milliseconds / 100) * 100);
