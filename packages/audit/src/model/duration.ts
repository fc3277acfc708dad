import { parseDuration } from "@lameduck/drain/duration";

/** Seconds of "20s" or "1m"; undefined for what Lameduck would refuse. */
export function durationOf(text: string): number | undefined {
  try {
    return parseDuration(text, "duration") / 1_000;
  } catch {
    return undefined;
  }
}
