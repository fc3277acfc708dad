import { quantile } from "../../packages/simulator/src/simulate/statistics.ts";

export function median(values: readonly number[]): number {
  return quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
}

/** The values themselves as a scenario's distribution. */
export function empirical(values: readonly number[]): { quantiles: [share: number, value: number][] } {
  return {
    quantiles: values
      .toSorted((a, b) => a - b)
      .map((value, index): [number, number] => [(index + 1) / values.length, value]),
  };
}
