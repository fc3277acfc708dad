import type { LineCounter } from "yaml";

/** One manifest file while it is read: where its fields are, and what of it is left out. */
export interface Source {
  readonly file: string;
  readonly lines: LineCounter;
  readonly warnings: string[];
}

/** file:line:column of an offset. */
export function placeOf({ file, lines }: Source, offset: number): string {
  const { line, col } = lines.linePos(offset);
  return `${file}:${line}:${col}`;
}
