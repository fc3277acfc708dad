import type { DrainConfig } from "./config.ts";

/** Over how long the asking is spread unless said otherwise, milliseconds. */
export const defaultRamp = 1_000;

/**
 * When to begin to ask clients to leave, milliseconds after SIGTERM, where the asking is spread over `ramp`. It begins at the
 * floor: a client that leaves before its load balancer has converged only comes back. A hold must leave time to ask before it
 * ends, else pools would be cut with requests on their way.
 */
export function hintsFrom({ policy, floor, cap }: DrainConfig, ramp: number): number {
  const longest = policy.kind === "fixed" ? Math.min(cap, Math.max(floor, policy.delay)) : cap;
  return Math.min(floor, Math.max(longest / 2, longest - 2 * ramp));
}
