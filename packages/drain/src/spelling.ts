/** This many letters may be wrong in a long name. A short name allows fewer, as it is soon another name. */
const most = 2;
const lettersForEach = 4;

/** What was probably meant by a name that is not known: the nearest one, where it is near. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const [best] = known
    .map((each) => ({ each, distance: editDistance(name.toLowerCase(), each.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  if (!best) return undefined;
  const length = Math.max(name.length, best.each.length);
  const allowed = Math.min(most, Math.max(1, Math.floor(length / lettersForEach)));
  return best.distance <= allowed ? best.each : undefined;
}

/** The text of a message about an unknown name. */
export function unknownName(kind: string, name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  const question = meant === undefined ? "" : ` (did you mean ${meant}?)`;
  return `no such ${kind}${question}${known.length > 0 ? `; known are ${known.join(", ")}` : ""}`;
}

/** Letters to insert, delete, replace or exchange with the next. */
function editDistance(from: string, to: string): number {
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let above = 0; above < from.length; above++) {
    const next = [above + 1];
    for (let left = 0; left < to.length; left++) {
      const isExchange = left > 0 && from[above] === to[left - 1] && from[above - 1] === to[left];
      next.push(
        Math.min(
          next[left]! + 1,
          row[left + 1]! + 1,
          row[left]! + (from[above] === to[left] ? 0 : 1),
          isExchange ? before[left - 1]! + 1 : Infinity,
        ),
      );
    }
    before = row;
    row = next;
  }
  return row.at(-1)!;
}
