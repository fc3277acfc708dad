import { readFile } from "node:fs/promises";
import { usedInIpvs, virtualServersIn } from "../rules/ip-vs.ts";
import { unreadable } from "../consumer.ts";
import { ipvsMode, type KubeProxyRules } from "./kube-proxy.ts";

const file = "/proc/net/ip_vs";
/** Reads until two in a row show the same virtual servers. Services come and go rarely. */
const mostReads = 6;

/** kube-proxy in IPVS mode: the kernel lists its virtual servers for everybody. @param read of the list. */
export function ipvsRules(read: () => Promise<string> = readList): KubeProxyRules {
  return {
    mode: ipvsMode,
    used: async (_family, addresses) => {
      const text = await readWhole(read);
      // The kernel module may be loaded although no virtual server exists.
      return virtualServersIn(text).length === 0 ? undefined : { used: usedInIpvs(text, addresses) };
    },
  };
}

/** The kernel gives the list page by page, and counts what it has given. Where one virtual server goes in between, it leaves out another. */
async function readWhole(read: () => Promise<string>): Promise<string> {
  let before = await read();
  for (let reads = 1; reads < mostReads; reads++) {
    const text = await read();
    if (virtualServersIn(text).join() === virtualServersIn(before).join()) return text;
    before = text;
  }
  throw unreadable(file, "its virtual servers change all the time");
}

function readList(): Promise<string> {
  return readFile(file, "latin1").catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw unreadable(file, "cannot be read", { cause: error });
  });
}
