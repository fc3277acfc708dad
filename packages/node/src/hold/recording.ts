import { constants, type Stats } from "node:fs";
import { lstat, open, rename, stat, type FileHandle } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import {
  optionsOf,
  type Decision,
  type DrainConfig,
  type Observation,
  type StopReason,
  type TraceHeader,
} from "@lameduck/drain";
import { messageOf } from "@lameduck/drain/common";
import { sleep } from "../clock.ts";

/** At least so many observations from before the termination are remembered, the latest ones. Habits fade within minutes anyway. */
const mostRemembered = 20_000;
/** So many lines may wait for a slow disk. */
const mostWaiting = 50_000;
/** Bytes of a trace; `end` comes after them. */
const mostWritten = 8 * 2 ** 20;
/** Lines that are turned into text at a time, so that requests do not wait for it. */
const atATime = 500;
/** Milliseconds between two looks for more to write. */
const pauseMs = 250;

type Seen = Observation & { readonly told?: number };
type Answer = { readonly type: "decision" | "end"; readonly at: number } & Readonly<Record<string, unknown>>;

/**
 * What the decision is told and what it answers, kept for `lameduck explain`: in memory while the process serves, in a file from the termination
 * on. The file is written beside the hold, never in its way; packages/drain/src/explain/trace.ts is its format.
 */
export class Recording {
  readonly #place: string;
  readonly #say: (problem: string) => void;
  #lines: (Seen | Answer)[] = [];
  #header: Omit<TraceHeader, "clock"> | undefined;
  #from: number | undefined;
  #leftOut = 0;
  /** Requests that are still in flight, of the lines that were forgotten. */
  #inFlight = 0;
  #off = false;
  #end: { readonly at: number; readonly reason: StopReason } | undefined;
  readonly #ended = new AbortController();
  #written: Promise<void> = Promise.resolve();

  /** @param say is called once, when nothing more can be written. */
  constructor(place: string, say: (problem: string) => void) {
    this.#place = place;
    this.#say = say;
  }

  /** Resolves when the file is complete, or has been given up. */
  get written(): Promise<void> {
    return this.#written;
  }

  /** @param told when the decision was told of it. */
  observed(observation: Observation, told: number): void {
    if (observation.type === "termination") this.#start(observation.at);
    this.#keep(told - observation.at > 1 ? { ...observation, told } : observation);
  }

  decided(at: number, decision: Decision): void {
    if (this.#from === undefined) return;
    const answer = decision.stop ? { reason: decision.reason } : { waitingFor: decision.waitingFor };
    this.#keep({ type: "decision", at, ...answer });
  }

  /** The file begins when the termination is observed next. */
  begin(on: string, config: DrainConfig): void {
    this.#header ??= {
      lameduck: "trace",
      version: 1,
      by: `@lameduck/node, Node ${process.version}`,
      pid: process.pid,
      on,
      config: optionsOf(config),
    };
  }

  #start(from: number): void {
    if (this.#from !== undefined) return;
    this.#from = from;
    const clock = { epoch: Date.now() - Math.round(performance.now() - from), unit: "ms" };
    this.#written = this.#write(`${JSON.stringify({ ...this.#header, clock })}\n`);
  }

  end(at: number, reason: StopReason): void {
    this.#end ??= { at, reason };
    this.#ended.abort();
  }

  #keep(line: Seen | Answer): void {
    if (this.#off || this.#end) return;
    if (this.#from === undefined && this.#lines.length >= 2 * mostRemembered) this.#forget();
    if (this.#lines.length < mostWaiting) this.#lines.push(line);
    else this.#leftOut++;
  }

  /** Forgets the older half. Arrivals are complete from the first line that is kept. */
  #forget(): void {
    for (const line of this.#lines.splice(0, mostRemembered))
      if (line.type === "in-flight") this.#inFlight += (line as { change: number }).change;
      else this.#leftOut++;
    const at = this.#lines[0]?.at ?? 0;
    this.#lines.unshift({ type: "watching", at }, { type: "in-flight", at, change: this.#inFlight });
    this.#inFlight = 0;
  }

  async #write(header: string): Promise<void> {
    try {
      const file = await makeTraceFile(this.#place);
      try {
        for await (const text of this.#texts(header)) await file.appendFile(text);
      } finally {
        await file.close();
      }
    } catch (error) {
      this.#say(`trace: ${messageOf(error)}`);
    }
    this.#off = true;
    this.#lines = [];
  }

  async *#texts(header: string): AsyncGenerator<string> {
    yield header;
    let left = mostWritten - header.length;
    for (;;) {
      while (this.#lines.length === 0 && !this.#end) await sleep(pauseMs, this.#ended.signal);
      if (this.#lines.length === 0) break;
      const lines = this.#lines.splice(0, atATime);
      const text = lines.map((line) => this.#textOf(line)).join("");
      // Once something has had no room, everything after it is left out, too.
      left -= left < text.length ? Infinity : text.length;
      if (left >= 0) yield text;
      else this.#leftOut += lines.length;
    }
    if (this.#end) yield this.#textOf({ type: "end", ...this.#end, leftOut: this.#leftOut });
  }

  #textOf(line: Seen | Answer): string {
    const shift = (time: number): number => Math.round((time - (this.#from ?? 0)) * 1_000) / 1_000;
    const { at, told } = line as { at: number; told?: number };
    const times = { at: shift(at), ...(told !== undefined && { told: shift(told) }) };
    return `${JSON.stringify({ ...line, ...times })}\n`;
  }
}

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
async function makeTraceFile(place: string): Promise<FileHandle> {
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

/** @throws where something else than a trace is there. */
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
