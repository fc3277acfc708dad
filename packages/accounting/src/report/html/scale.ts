/** Maps values to positions in the picture. */
export interface Scale {
  readonly ticks: readonly number[];
  (value: number): number;
}

export function linear(
  domain: readonly [number, number],
  range: readonly [number, number],
  ticks = 8,
): Scale {
  const [from, to] = domain;
  const span = to - from || 1;
  const position = (value: number): number => range[0] + ((value - from) / span) * (range[1] - range[0]);
  return Object.assign(position, { ticks: roundTicks(from, to, ticks) });
}

/** At most so many round values in the domain. */
function roundTicks(from: number, to: number, most: number): number[] {
  const rough = (to - from || 1) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  const ticks: number[] = [];
  for (let i = Math.ceil(from / step); i * step <= to + step / 1e6; i++)
    ticks.push(+(i * step).toPrecision(12));
  return ticks;
}

/**
 * Logarithmic above the least value, with a place of its own for zero below it: what lost nothing must not sit beside what lost a little.
 */
export function logWithZero(values: readonly number[], range: readonly [bottom: number, top: number]): Scale {
  const positive = values.filter((value) => value > 0);
  const low = Math.floor(Math.log10(Math.min(...positive, 1)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...positive, 1))));
  const [bottom, top] = range;
  const floor = bottom + (top - bottom) * 0.14;
  const position = (value: number): number =>
    value <= 0 ? bottom : floor + (Math.max(0, Math.log10(value) - low) / (high - low)) * (top - floor);
  const ticks = [0, ...Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i))];
  return Object.assign(position, { ticks });
}
