export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return ((sorted[(sorted.length - 1) >> 1] ?? 0) + (sorted[sorted.length >> 1] ?? 0)) / 2;
}

/** The values themselves as a scenario's distribution. */
export function empirical(values: readonly number[]): { quantiles: [share: number, value: number][] } {
  return {
    quantiles: values
      .toSorted((a, b) => a - b)
      .map((value, index): [number, number] => [(index + 1) / values.length, value]),
  };
}
