import { quantile } from "../../packages/simulator/src/simulate/statistics.ts";

export function median(values: readonly number[]): number {
  return quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
}
