/** All chains that a packet can come to. */
export function reachableFrom(
  entrances: readonly string[],
  jumps: ReadonlyMap<string, readonly string[]>,
): ReadonlySet<string> {
  const seen = new Set(entrances);
  // A set that grows while it is walked is walked to its end.
  for (const chain of seen) for (const next of jumps.get(chain) ?? []) seen.add(next);
  return seen;
}
