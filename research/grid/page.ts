/** research/recordings/grid.md: the grid, and between its results and its failing cells the parts that are made by themselves. */
const parts = ["Held out", "Tuned to the preset", "At equal knowledge"] as const;

type Part = (typeof parts)[number];

const partOf = (title: Part): RegExp => new RegExp(`## ${title}\\n[^]*?(?=\\n## )`);

/** The page with one part made anew. */
export function withPart(page: string, title: Part, made: string): string {
  return withGrid(page, page, { [title]: made });
}

/** A page made anew with the parts that the old one had. */
export function withGrid(page: string, made: string, anew: { [title in Part]?: string } = {}): string {
  const kept = parts.map((title) => (anew[title] ?? partOf(title).exec(page)?.[0] ?? "").trim());
  const rest = parts.reduce((text, title) => text.replace(partOf(title), ""), made);
  const all = kept.filter((part) => part !== "").join("\n\n");
  return rest.replace(/\n+(?=## Cells that fail)/, () => `\n\n${all}\n\n`);
}
