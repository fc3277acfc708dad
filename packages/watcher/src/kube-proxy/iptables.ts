import { readFile } from "node:fs/promises";
import {
  hasServicesInNat,
  isForIpvs,
  isKubeProxyNat,
  requireWholeNat,
  usedInNat,
} from "../rules/iptables-save.ts";
import { run } from "../rules/run-program.ts";
import { unreadable } from "../consumer.ts";
import { emptyRules, type KubeProxyRules } from "./kube-proxy.ts";

/** The two kinds of tables that the kernel keeps for iptables; kube-proxy writes into one of them. */
type IptablesBackend = "legacy" | "nft";

const programs = { ip: "iptables", ip6: "ip6tables" } as const;
const tables = { ip: "/proc/net/ip_tables_names", ip6: "/proc/net/ip6_tables_names" } as const;

/** kube-proxy in iptables mode, by its rules in one kind of tables. */
export function iptablesRules(backend: IptablesBackend): KubeProxyRules {
  return {
    mode: `iptables (${backend})`,
    isMonitored: backend === "nft",
    used: async (family, addresses, signal) => {
      if (backend === "legacy" && !(await hasLegacyTable(tables[family]))) return undefined;
      const text = await run(`${programs[family]}-${backend}-save`, ["-t", "nat"], signal);
      requireWholeNat(text);
      if (!isKubeProxyNat(text)) return undefined;
      if (!hasServicesInNat(text)) return emptyRules;
      return { used: usedInNat(text, addresses), isForIpvs: isForIpvs(text) };
    },
  };
}

/** Asks the kernel which tables exist: running the program would load its module. */
async function hasLegacyTable(names: string): Promise<boolean> {
  try {
    return (await readFile(names, "latin1")).split("\n").includes("nat");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw unreadable(names, "cannot be read; it needs the user 0", { cause: error });
  }
}
