import { hasServicesInTable, requireWholeTable, usesInTable } from "../rules/nft-list.ts";
import { run } from "../rules/run-program.ts";
import { emptyRules, type KubeProxyRules } from "./kube-proxy.ts";
import { ChainCache } from "./chain-cache.ts";

const table = "kube-proxy";

/** kube-proxy in nftables mode: its rules are in tables of its own. */
export function nftablesRules(): KubeProxyRules {
  const chains = new ChainCache(table);
  return {
    mode: "nftables",
    isMonitored: true,
    used: async (family, addresses, signal) => {
      const tables = await run("nft", ["list", "tables", family], signal);
      if (!tables.split("\n").includes(`table ${family} ${table}`)) return undefined;
      const text = await run("nft", ["list", "table", family, table], signal);
      requireWholeTable(text);
      if (!hasServicesInTable(text)) return emptyRules;
      const uses = usesInTable(text, addresses);
      chains.remember(family, uses);
      return { used: new Set(uses.keys()) };
    },
    surelyUsed: chains.surelyUsed.bind(chains),
  };
}
