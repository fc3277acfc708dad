/**
 * Requests of load tools people already run, instead of our own load (`--requests FILE`).
 *
 *     const { records, files, notes } = await readRequests(["k6.json.gz", "vegeta.jsonl"], {
 *       clock,                                    // the run's clock
 *       window: { from, to },                     // what was watched, milliseconds since 1970
 *       podAt: (address, at) => ...,              // where pods are known by their addresses
 *     });
 *
 * `records` go into RunRecording.records as they are; `scheduled` is their number after countedFrom: requests that the tool itself says
 * it never sent are among them, as "not-sent". `notes` belong into the report's reservations.
 */
import type { RunClock, RequestRecord } from "@lameduck/accounting";
import { detect, formats, type RequestsFormat } from "./detect.ts";
import { BadLine, RequestsError } from "./errors.ts";
import { readLines } from "./lines.ts";
import { notesOf, type FileRead } from "./notes.ts";
import { Recorder } from "./record.ts";
import type { Parser, ReportedRequest } from "./parser.ts";

export interface RequestsOptions {
  readonly clock: Pick<RunClock, "fromEpoch">;
  /** Only requests begun in this time count, milliseconds since 1970: what was watched. */
  readonly window?: { readonly from: number; readonly to: number };
  /** The pod that has an address at that time of the run: for proxies and tools that name addresses. */
  readonly podAt?: (address: string, at: number) => string | undefined;
  /** Most requests kept in memory, default 3,000,000. */
  readonly limit?: number;
}

export interface RequestsRead {
  /** In the order in which they were begun; ids are their places. */
  readonly records: readonly RequestRecord[];
  readonly files: readonly FileRead[];
  /** What the files leave open, a sentence each, for the report's reservations. */
  readonly notes: readonly string[];
}

/** Reads the requests of other load tools. @throws {RequestsError} */
export async function readRequests(
  files: readonly string[],
  options: RequestsOptions,
): Promise<RequestsRead> {
  // Taken once: each call would add the jitter of two clocks read one after the other.
  const recorder = new Recorder(options.clock.fromEpoch(0), options.podAt ?? (() => undefined));
  const collection = new Collection(options, recorder);
  const read: FileRead[] = [];
  for (const file of files) read.push(await readFile(file, collection));
  const records = collection.sorted();
  return { records, files: read, notes: notesOf(read, recorder.unknown) };
}

/** The requests of all files, within bounds. */
class Collection {
  readonly window: RequestsOptions["window"];
  readonly #recorder: Recorder;
  readonly #limit: number;
  readonly #records: RequestRecord[] = [];
  counts = noCounts();

  constructor({ window, limit = 3_000_000 }: RequestsOptions, recorder: Recorder) {
    this.window = window;
    this.#recorder = recorder;
    this.#limit = limit;
  }

  /** @returns false where there is no more room. */
  take(reported: ReportedRequest): boolean {
    const { counts, window } = this;
    const { begun } = reported;
    counts.first = Math.min(counts.first, begun);
    counts.last = Math.max(counts.last, begun);
    if (window && (begun < window.from || begun > window.to)) {
      counts.outside++;
      return true;
    }
    if (this.#records.length >= this.#limit) return false;
    const record = this.#recorder.record(reported, this.#records.length);
    counts.requests++;
    if (reported.dropped) counts.dropped++;
    if (record.pod !== undefined) counts.pods++;
    this.#records.push(record);
    return true;
  }

  sorted(): RequestRecord[] {
    this.#records.sort((a, b) => a.intended - b.intended);
    return this.#records.map((record, id) => ({ ...record, id }));
  }
}

function noCounts() {
  return { requests: 0, outside: 0, dropped: 0, pods: 0, resolutionMs: 0, first: Infinity, last: -Infinity };
}

async function readFile(file: string, collection: Collection): Promise<FileRead> {
  collection.counts = noCounts();
  const { counts } = collection;
  let format: RequestsFormat | undefined;
  let parser: Parser | undefined;
  let cut = false;
  let number = 0;
  const context = {
    coarse: (milliseconds: number) => {
      counts.resolutionMs = Math.max(counts.resolutionMs, milliseconds);
    },
    emit: (reported: ReportedRequest) => {
      if (!collection.take(reported))
        throw new BadLine(number, "has more requests than there is room for", "LAMEDUCK_REQUESTS_TOO_MANY");
    },
  };
  try {
    for await (const { lines, first, unfinished } of readLines(file)) {
      number = first;
      for (const text of lines) {
        if (!parser && text.trim() !== "") {
          format = formatOf(text, `${file}:${number}`);
          parser = formats[format](context);
        }
        cut = feed(parser, text, number, unfinished);
        number++;
      }
    }
    parser?.end();
  } catch (error) {
    throw error instanceof BadLine
      ? new RequestsError(error.code, `${file}:${error.line}`, error.message)
      : error;
  }
  const { first, last, ...rest } = counts;
  if (format === undefined || rest.requests + rest.outside === 0)
    throw new RequestsError("LAMEDUCK_REQUESTS_EMPTY", file, "holds no request");
  const { window } = collection;
  if (window && rest.requests === 0) throw fromOtherTime(file, window, first, last);
  return {
    file,
    format,
    cut,
    ...rest,
    silentBeforeMs: window ? Math.max(0, first - window.from) : 0,
    silentAfterMs: window ? Math.max(0, window.to - last) : 0,
  };
}

/** @returns whether the line had to be left out because it was cut. */
function feed(parser: Parser | undefined, text: string, number: number, unfinished: boolean): boolean {
  try {
    parser?.line(text, number);
    return false;
  } catch (error) {
    // The tool was stopped, or still runs: the last line may be half written.
    if (unfinished && error instanceof BadLine && error.code !== "LAMEDUCK_REQUESTS_TOO_MANY") return true;
    throw error;
  }
}

function formatOf(text: string, place: string): RequestsFormat {
  const found = detect(text);
  if (found) return found;
  throw new RequestsError(
    "LAMEDUCK_REQUESTS_UNKNOWN_FORMAT",
    place,
    "is no line of k6, of vegeta, or of Lameduck's own form",
  );
}

function fromOtherTime(
  file: string,
  window: { readonly from: number; readonly to: number },
  first: number,
  last: number,
): RequestsError {
  const iso = (at: number): string => new Date(at).toISOString();
  const apart = first > window.to ? first - window.to : window.from - last;
  const minutes = Math.round(apart / 60_000);
  return new RequestsError(
    "LAMEDUCK_REQUESTS_OTHER_TIME",
    file,
    `its requests are from ${iso(first)} to ${iso(last)}, the rollout was watched from ${iso(window.from)} to ${iso(window.to)}` +
      (minutes >= 1 ? `: ${Math.floor(minutes / 60)} h ${minutes % 60} min apart` : ""),
  );
}
