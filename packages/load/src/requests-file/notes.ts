import { count } from "@lameduck/accounting/words";
import type { RequestsFormat } from "./detect.ts";

/** What a reader of the account must know of where its requests came from. */
export function notesOf(files: readonly FileRead[], unknown: ReadonlyMap<string, number>): string[] {
  const notes = files.flatMap((file) => ofFile(file));
  if (unknown.size > 0) {
    const words = [...unknown].map(([error, count]) => `${count} x "${error}"`).join(", ");
    notes.push(`failures that are not understood, counted as wrong answers: ${words}`);
  }
  return notes;
}

/** A load has no pause of that length. */
const pauseMs = 5_000;

function ofFile(read: FileRead): string[] {
  const notes: string[] = [];
  const note = (applies: boolean, text: string): void => {
    if (applies) notes.push(`${read.file}: ${text}`);
  };
  note(read.outside > 0, `left out: ${count(read.outside, "request")} before or after the time watched`);
  note(
    read.dropped > 0,
    `${count(read.dropped, "due request")} never sent: the load tool had no free virtual user`,
  );
  note(
    read.silentBeforeMs > pauseMs,
    `its first request came ${seconds(read.silentBeforeMs)} after the watching began: what was lost before is not known`,
  );
  note(
    read.silentAfterMs > pauseMs,
    `its last request came ${seconds(read.silentAfterMs)} before the watching ended: the load had ended, or had not been written yet`,
  );
  note(read.cut, "the last line was cut and is left out");
  note(
    read.resolutionMs > 0,
    `times are known to ${read.resolutionMs / 1_000} s only, too coarse to say which race lost a request`,
  );
  note(
    read.pods === 0 && read.requests > 0,
    "no request names its pod: pods are inferred from the time alone",
  );
  note(
    read.format === "k6",
    "only with an arrival-rate executor is k6's load open; with others, losses of a stalled service are counted too low",
  );
  note(
    read.format === "vegeta",
    "whether a connection was new or kept alive is not reported; all that were made count as kept alive",
  );
  return notes;
}

const seconds = (milliseconds: number): string => `${(milliseconds / 1_000).toFixed(1)} s`;

/** What one file held. */
export interface FileRead {
  readonly file: string;
  readonly format: RequestsFormat;
  /** Requests kept. */
  readonly requests: number;
  /** Requests before or after the time watched. */
  readonly outside: number;
  /** Scheduled and never sent, as the tool says. */
  readonly dropped: number;
  /** Its times are only known to so much; 0 where they have fractions of a second. */
  readonly resolutionMs: number;
  /** The last line was cut and is left out. */
  readonly cut: boolean;
  /** Requests whose pod is known. */
  readonly pods: number;
  /** The time watched before its first and after its last request. */
  readonly silentBeforeMs: number;
  readonly silentAfterMs: number;
}
