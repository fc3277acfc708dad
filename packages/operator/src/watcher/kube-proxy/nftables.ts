import { usedInTable } from "../rules/nft-list.ts";
import { run } from "../rules/run-program.ts";
import type { KubeProxyRules } from "./kube-proxy.ts";

/** kube-proxy in nftables mode: its rules are in tables of its own. */
export const nftablesRules: KubeProxyRules = {
  mode: "nftables",
  used: async (family, addresses, signal) => {
    const tables = await run("nft", ["list", "tables", family], signal);
    if (!tables.split("\n").includes(`table ${family} kube-proxy`)) return undefined;
    return {
      used: usedInTable(await run("nft", ["list", "table", family, "kube-proxy"], signal), addresses),
    };
  },
};
