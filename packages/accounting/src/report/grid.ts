/** A cell: its text, and how to colour it once its width is settled. */
export interface Cell {
  readonly text: string;
  readonly paint?: (text: string) => string;
}

export interface Column {
  readonly title: string;
  readonly align: "left" | "right";
}

const separator = "  ";

/** Lays cells out in columns; the first column gives way where the whole would be wider than allowed. */
export function grid(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  width: number,
): string[] {
  const widths = columns.map((column, i) =>
    Math.max(column.title.length, ...rows.map((row) => row[i]?.text.length ?? 0)),
  );
  const excess = widths.reduce((sum, one) => sum + one + separator.length, -separator.length) - width;
  if (excess > 0) widths[0] = Math.max(columns[0]!.title.length, 8, widths[0]! - excess);
  const lay = (cells: readonly Cell[]): string =>
    columns
      .map(({ align }, i) => fit(cells[i] ?? { text: "" }, widths[i]!, align))
      .join(separator)
      .trimEnd();
  return [
    lay(columns.map(({ title }) => ({ text: title }))),
    "-".repeat(widths.reduce((sum, one) => sum + one + separator.length, -separator.length)),
    ...rows.map(lay),
  ];
}

function fit({ text, paint = (same) => same }: Cell, width: number, align: Column["align"]): string {
  const shown = text.length > width ? `${text.slice(0, width - 1)}…` : text;
  const space = " ".repeat(width - shown.length);
  return align === "left" ? paint(shown) + space : space + paint(shown);
}

/** Breaks a text at spaces into lines no longer than the width, all but the first indented further. */
export function wrap(text: string, width: number, indent: string, hanging: string): string[] {
  const lines: string[] = [];
  let line = indent;
  let empty = true;
  // A number is not separated from its unit.
  for (const word of text.split(/ (?!(?:ms|s|%)(?:\W|$))/)) {
    if (!empty && line.length + 1 + word.length > width) {
      lines.push(line);
      line = hanging;
      empty = true;
    }
    line += empty ? word : ` ${word}`;
    empty = false;
  }
  return [...lines, line];
}
