import { hasServicesInTable, requireWholeTable, usedInTable } from "../rules/nft-list.ts";
import { run } from "../rules/run-program.ts";
import { emptyRules, type KubeProxyRules } from "./kube-proxy.ts";

const table = "kube-proxy";

/** kube-proxy in nftables mode: its rules are in tables of its own. */
export function nftablesRules(): KubeProxyRules {
  return {
    mode: "nftables",
    isMonitored: true,
    used: async (family, addresses, signal) => {
      const tables = await run("nft", ["list", "tables", family], signal);
      if (!tables.split("\n").includes(`table ${family} ${table}`)) return undefined;
      const text = await run("nft", ["list", "table", family, table], signal);
      requireWholeTable(text);
      if (!hasServicesInTable(text)) return emptyRules;
      return { used: usedInTable(text, addresses) };
    },
  };
}
