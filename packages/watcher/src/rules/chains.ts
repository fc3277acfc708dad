/** All chains that a packet can come to. */
export function reachableFrom(
  entrances: readonly string[],
  jumps: ReadonlyMap<string, readonly string[]>,
): ReadonlySet<string> {
  const seen = new Set(entrances);
  // Iterating a Set visits entries that are added meanwhile.
  for (const chain of seen) for (const next of jumps.get(chain) ?? []) seen.add(next);
  return seen;
}
