import type { Field } from "@lameduck/manifests";

/** Where a finding is: lines and columns count from 1, the end is not included. */
interface Region {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly endColumn: number;
  /** The text of the line, without its end. */
  readonly text: string;
}

const widest = 100;

/** The place of a value. Only the first line is marked where it has several. */
export function regionOf(field: Field, textOf: (file: string) => string): Region {
  const { file, lines } = field.source;
  const [start, end] = field.span;
  const { line, col } = lines.linePos(start);
  const whole = textOf(file);
  const lineStart = start - col + 1;
  const lineEnd = whole.indexOf("\n", start);
  const text = whole.slice(lineStart, lineEnd === -1 ? whole.length : lineEnd).replace(/\r$/, "");
  const marked = Math.min(Math.max(end - start, 1), Math.max(text.length - col + 1, 1));
  return { file, line, column: col, endColumn: col + marked, text };
}

/** The line and a caret below it. Of a long line the part around the caret. */
export function excerpt({ line, column, endColumn, text }: Region): string[] {
  const from = column - 1 > widest / 2 ? Math.max(0, column - 1 - widest / 4) : 0;
  const shown = `${from > 0 ? "..." : ""}${text.slice(from, from + widest)}${text.length > from + widest ? "..." : ""}`;
  const before = (from > 0 ? "..." : "") + text.slice(from, column - 1);
  const length = Math.max(1, Math.min(endColumn - column, from + widest - (column - 1)));
  const number = String(line);
  // A tab in the excerpt is a tab above the caret.
  return [
    `${number} | ${shown}`,
    `${" ".repeat(number.length)} | ${before.replace(/[^\t]/g, " ")}^${"~".repeat(length - 1)}`,
  ];
}
