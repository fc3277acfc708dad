/**
 * One clock for every process of a run: milliseconds since the run began, from the machine's monotonic clock, which processes and
 * network namespaces share.
 */
export interface RunClock {
  /** CLOCK_MONOTONIC at the start of the run, nanoseconds, as a decimal text so that it passes through JSON. */
  readonly origin: string;
  now(): number;
  /** A wall-clock time (Date.now()) on this clock. */
  fromEpoch(milliseconds: number): number;
}

export function runClock(origin: bigint = process.hrtime.bigint()): RunClock {
  const now = (): number => Number(process.hrtime.bigint() - origin) / 1e6;
  return {
    origin: origin.toString(),
    now,
    fromEpoch: (milliseconds) => now() - (Date.now() - milliseconds),
  };
}
