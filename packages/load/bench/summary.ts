/** One line a figure: min / median / max over the runs. */
export function summary(runs: readonly Readonly<Record<string, number>>[]): string {
  return Object.keys(runs[0] ?? {})
    .map((key) => {
      const sorted = runs.map((run) => run[key] ?? Number.NaN).sort((a, b) => a - b);
      const [low, middle, high] = [sorted[0], sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
      return `  ${key}: ${[low, middle, high].map((value) => +(value ?? Number.NaN).toFixed(2)).join(" / ")}\n`;
    })
    .join("");
}
