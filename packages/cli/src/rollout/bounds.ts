import { formatDuration } from "@lameduck/drain";
import { baselineMs, longestSettlingMs } from "@lameduck/rollout";
import type { RolloutOptions } from "./options.ts";

/** When the load ends by itself, whatever the rollout does. */
export interface LoadBounds {
  /** Milliseconds. */
  readonly duration: number;
  readonly maxRequests: number;
  /** The arithmetic, and whether the load may end before the run does. */
  readonly words: string;
}

/** More than this a generator does not take. */
const mostOfOneGenerator = 20_000_000;

/** Unless they are given they follow from the other options: a load that ends before the rollout would leave the rest untested. */
export function loadBounds(
  { rps, requestsMax }: RolloutOptions,
  times: { readonly warmUp: number; readonly settle: number; readonly timeout: number },
): LoadBounds {
  const settling = Math.max(times.settle, longestSettlingMs);
  const longest = times.warmUp + baselineMs + times.timeout + settling;
  // Arrivals are random: a tenth more than are to be expected.
  const needed = Math.ceil((1.1 * rps * longest) / 1_000) + 100;
  const maxRequests = Math.min(requestsMax ?? needed, mostOfOneGenerator);
  const lasts = Math.min(longest, (maxRequests / rps) * 1_000);
  const words =
    lasts < longest
      ? `; that may be ${formatDuration(Math.round((longest - lasts) / 1_000) * 1_000)} too few, and what ends without it is untested`
      : "";
  return {
    duration: longest,
    maxRequests,
    words: `at most ${maxRequests.toLocaleString("en")} requests or ${formatDuration(longest)}, which is warm-up, --timeout and settling${words}`,
  };
}
