/**
 * Milliseconds since 1970 by this machine's clock when the process began, and from there by one that nobody sets: neither a lifetime nor a silence
 * ends because the time is corrected.
 */
export function steadyNow(): number {
  return performance.timeOrigin + performance.now();
}
