import { mkdtempSync, rmSync, writeFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { apiServer, nodeAddress, podAddressOf, prefixLength, senderAddressOf } from "./addresses.ts";
import { hostLines, type Forward } from "../network/forward.ts";
import { ip, run } from "../network/run.ts";
import { nameAt, type Bind, type Network, type PodNetwork } from "../network/network.ts";
import { findOwnRoot, type OwnRoot } from "./own-root.ts";
import { findTools, type ImageTools } from "./image-tools.ts";
import { bridge, PodNamespace } from "./pod-namespace.ts";
import type { Fabric } from "./privileges.ts";

/** Without an address of its own a bridge takes the lowest of its ports'. Whenever that port goes, pods would send to an address that is gone. */
const bridgeAddress = "02:4c:44:00:00:01";

/**
 * Entries of a pod's table of connections. /proc/net/tcp walks the whole table: with the 262,144 entries of an ordinary machine one
 * look for a listener takes 3.8 ms, with these 0.1 ms.
 */
const tableEntries = 4_096;

/**
 * Pods see this machine's files, and may be root. A mount point cannot be removed: without this, an nginx told to keep its pid in
 * /dev/null removes the machine's /dev/null when it ends.
 */
const guardDevices = `
for device in null zero full random urandom tty ptmx; do
  if [ -e /dev/$device ]; then mount -n --bind /dev/$device /dev/$device; fi
done`;

/** What of the world outside pods may reach and change. */
export interface Openings {
  readonly forwards: readonly Forward[];
  /** Paths where what pods write is kept. */
  readonly writable: readonly string[];
}

/** The network of a process that `enterStage` has put into a namespace of its own. */
export async function openNamespaceNetwork(
  fabric: Exclude<Fabric, { kind: "none" }>,
  scratch: string,
  { forwards, writable }: Openings,
): Promise<Network> {
  await prepareNode();
  const shadow = mkdtempSync(join(scratch, "shadow-"));
  const ownRoot = await findOwnRoot(scratch, shadow, { locked: fabric.kind === "user" });
  const root = typeof ownRoot === "string" ? undefined : ownRoot;
  const tools = await findTools(join(scratch, "tools"));
  const kept = root ? writable.map((path): Bind => ({ from: path, to: path })) : [];
  const binds = [...kept, ...hostsBind(forwards, scratch)];
  const senders = new Map<string, Promise<string>>();
  const addresses = new Map<string, string>();
  const addSender = async (name: string, address: string): Promise<string> => {
    addresses.set(name, address);
    await ip(`addr add ${address}/${prefixLength} dev ${bridge}`);
    return address;
  };
  const pods = new Set<PodNetwork>();
  let attached = 0;
  return {
    kind: fabric.kind === "root" ? "network namespaces as root" : "network namespaces in a user namespace",
    nodeAddress,
    apiServer,
    limits: [],
    files: filesText(ownRoot, writable),
    ...whyNoImages(ownRoot, tools),
    keepsNothing: root !== undefined && writable.length + root.real.length === 0,
    scratch,
    senderAddress: (name) => {
      const known = senders.get(name) ?? addSender(name, senderAddressOf(senders.size));
      senders.set(name, known);
      return known;
    },
    senderAt: (address) => nameAt(addresses, address),
    attachPod: async (name) => {
      const number = attached++;
      const pod = new PodNamespace({
        name,
        link: `ld${number}`,
        address: podAddressOf(number),
        fabric,
        shadow,
        plan: root?.plan,
        tools: typeof tools === "string" ? undefined : tools,
        binds,
        forwards,
        scratch,
        onDetached: () => pods.delete(pod),
      });
      pods.add(pod);
      await pod.attach();
      return pod;
    },
    close: async () => {
      await Promise.all([...pods].map((pod) => pod.detach()));
      await ip(`link del ${bridge}`);
      rmSync(scratch, { recursive: true, force: true });
    },
  };
}

/** The bridge between senders and pods, and what every pod starts from. */
async function prepareNode(): Promise<void> {
  await ip(
    `link set lo up
link add name ${bridge} address ${bridgeAddress} type bridge
link set ${bridge} addrgenmode none
addr add ${nodeAddress}/${prefixLength} dev ${bridge}
link set ${bridge} up`,
  );
  await run("sh", ["-c", guardDevices]);
  try {
    writeFileSync("/proc/sys/net/ipv4/tcp_child_ehash_entries", String(tableEntries));
  } catch {
    // Before Linux 6.1 pods share the machine's table; looks for listeners are then dearer, and rarer (listeners.ts).
  }
}

function whyNoImages(ownRoot: OwnRoot | string, tools: ImageTools | string): Pick<Network, "noImages"> {
  if (typeof ownRoot === "string") return { noImages: `no overlay can be had here: ${ownRoot}` };
  return typeof tools === "string" ? { noImages: tools } : {};
}

function filesText(ownRoot: OwnRoot | string, writable: readonly string[]): string {
  if (typeof ownRoot === "string")
    return `pods write to this machine's own files: no copy-on-write root can be had here (${ownRoot})`;
  const real = [...writable, ...ownRoot.real];
  const except = real.length === 0 ? "" : `, except in ${real.join(", ")}`;
  return `pods see this machine's files; their writes are discarded${except}`;
}

const hosts = "/etc/hosts";

/** Pods ask no name server: the names that they may reach stand in their /etc/hosts. */
function hostsBind(forwards: readonly Forward[], scratch: string): Bind[] {
  const lines = hostLines(forwards);
  if (lines === "" || !existsSync(hosts)) return [];
  const file = join(scratch, "hosts");
  // The first line that names a host counts.
  writeFileSync(file, lines + readFileSync(hosts, "utf8"));
  return [{ from: file, to: hosts }];
}
