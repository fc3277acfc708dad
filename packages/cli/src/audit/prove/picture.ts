import type { RemedyResult } from "@lameduck/accounting";

const width = 40;

/**
 * Both chains of a termination, as it is and with the fixes. One bar is how long pods went on serving, the other how long senders
 * went on choosing them. Where the second bar is the longer one, requests were lost.
 */
export function pictureOf(
  results: readonly (readonly [name: string, result: Pick<RemedyResult, "hold" | "oracle">])[],
): string[] {
  const bars = results.flatMap(([name, { hold, oracle }]) => [
    { name, what: "pods serve", fill: "=", milliseconds: hold },
    { name: "", what: "senders choose them", fill: "-", milliseconds: oracle },
  ]);
  if (bars.some(({ milliseconds }) => milliseconds.count === 0)) return [];
  const longest = Math.max(1, ...bars.map(({ milliseconds }) => milliseconds.max));
  const nameWidth = Math.max(...bars.map(({ name }) => name.length));
  return [
    "after the deletion, the longest of all:",
    ...bars.map(({ name, what, fill, milliseconds: { max } }) => {
      const bar = fill.repeat(Math.round((max / longest) * width));
      return `${name.padEnd(nameWidth)}  ${what.padEnd(19)}  |${bar} ${(max / 1_000).toFixed(1)} s`;
    }),
  ];
}
