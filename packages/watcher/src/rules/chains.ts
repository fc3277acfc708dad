import { canonicalAddress } from "@lameduck/protocol";

/** A chain, and its text while an address is used by it. */
export interface ChainUse {
  readonly chain: string;
  readonly rule: string;
}

/** Those of `asked` that are used, in the spelling of `asked`, with what was found for each. */
export function usesOf<T>(asked: readonly string[], uses: ReadonlyMap<string, T>): Map<string, T> {
  return new Map(
    asked.flatMap((address) => {
      const use = uses.get(canonicalAddress(address) ?? address);
      return use === undefined ? [] : [[address, use] as const];
    }),
  );
}

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
