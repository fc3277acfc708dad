import type { LineCounter } from "yaml";

/** A range of offsets; the second is not included. */
export type Span = readonly [start: number, end: number];

/** One document of a manifest file while it is read: where its fields are, and which of them are left out. */
export interface Source {
  readonly file: string;
  /** The text of the whole file. */
  readonly lines: LineCounter;
  /** Where in the file the offsets of the document's nodes begin. */
  readonly base: number;
  readonly warnings: string[];
}

/** file:line:column of an offset in the file. */
export function placeOf({ file, lines }: Source, offset: number): string {
  const { line, col } = lines.linePos(offset);
  return `${file}:${line}:${col}`;
}
