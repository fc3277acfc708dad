import type { ChainUse } from "../rules/chains.ts";
import { run } from "../rules/run-program.ts";
import type { AddressFamily } from "./kube-proxy.ts";

/**
 * Remembers for each address one chain that leads to it, as found by the last read of all rules. The kernel shows a single chain in milliseconds,
 * however many there are. While that chain is unchanged the address is in use; once it changes, all rules have to be read.
 */
export class ChainCache {
  readonly #table: string;
  readonly #of: Record<AddressFamily, ReadonlyMap<string, ChainUse>> = { ip: new Map(), ip6: new Map() };

  /** @param table that the chains are in. */
  constructor(table: string) {
    this.#table = table;
  }

  remember(family: AddressFamily, uses: ReadonlyMap<string, ChainUse>): void {
    this.#of[family] = uses;
  }

  async surelyUsed(
    family: AddressFamily,
    addresses: readonly string[],
    signal: AbortSignal,
  ): Promise<Set<string>> {
    const shown = new Map<string, string>();
    const used = new Set<string>();
    for (const address of addresses) {
      const use = this.#of[family].get(address);
      if (use === undefined) continue;
      const { chain, rule } = use;
      // A chain that is gone says nothing.
      const text =
        shown.get(chain) ??
        (await run("nft", ["list", "chain", family, this.#table, chain], signal).catch(() => ""));
      shown.set(chain, text);
      if (text.includes(rule)) used.add(address);
    }
    return used;
  }
}
