import { readFile } from "node:fs/promises";
import { hasVirtualServers, usedInIpvs } from "../rules/ip-vs.ts";
import { unreadable } from "../consumers/consumer.ts";
import { ipvsMode, type KubeProxyRules } from "./kube-proxy.ts";

const file = "/proc/net/ip_vs";

/** kube-proxy in IPVS mode: the kernel lists its virtual servers for everybody. */
export const ipvsRules: KubeProxyRules = {
  mode: ipvsMode,
  used: async (_family, addresses) => {
    const text = await readFile(file, "latin1").catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
      throw unreadable(file, "cannot be read", { cause: error });
    });
    // The kernel module may be loaded although no virtual server exists.
    if (text === "" || !hasVirtualServers(text)) return undefined;
    return { used: usedInIpvs(text, addresses) };
  },
};
