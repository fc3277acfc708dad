import { mkdtempSync, rmSync, writeFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { apiServer, nodeAddress, podAddressOf, prefixLength, senderAddressOf } from "../network/addresses.ts";
import type { Forward } from "../network/forward.ts";
import { ip, run } from "../network/run.ts";
import type { AttachOptions, Bind, Network, PodNetwork } from "../network/network.ts";
import { findOwnRoot, type OwnRoot } from "./own-root.ts";
import { bridge, PodNamespace } from "./pod-namespace.ts";
import type { Fabric } from "../network/privileges.ts";
import { isIP } from "node:net";

/** Without one of its own a bridge takes the lowest of its ports', and whenever that port goes, pods send to an address that is gone. */
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
  const shadow = mkdtempSync(join(scratch, "shadow-"));
  const ownRoot = await findOwnRoot(scratch, shadow, { locked: fabric.kind === "user" });
  return new NamespaceNetwork({ fabric, scratch, shadow, ownRoot, forwards, writable });
}

interface NamespaceOptions extends Openings {
  readonly fabric: Exclude<Fabric, { kind: "none" }>;
  readonly scratch: string;
  readonly shadow: string;
  /** Or why there is none. */
  readonly ownRoot: OwnRoot | string;
}

class NamespaceNetwork implements Network {
  readonly kind;
  readonly nodeAddress = nodeAddress;
  readonly apiServer = apiServer;
  readonly limits = [];
  readonly files: string;
  readonly keepsNothing: boolean;
  readonly scratch: string;
  readonly #options: NamespaceOptions;
  readonly #binds: readonly Bind[];
  readonly #senders = new Map<string, Promise<string>>();
  readonly #pods = new Set<PodNamespace>();
  #attached = 0;

  constructor(options: NamespaceOptions) {
    const { fabric, scratch, ownRoot, writable, forwards } = options;
    this.#options = options;
    this.scratch = scratch;
    this.kind =
      fabric.kind === "root"
        ? ("network namespaces as root" as const)
        : ("network namespaces in a user namespace" as const);
    this.files = filesText(ownRoot, writable);
    this.keepsNothing = typeof ownRoot !== "string" && writable.length + ownRoot.real.length === 0;
    const kept = typeof ownRoot === "string" ? [] : writable.map((path): Bind => ({ from: path, to: path }));
    this.#binds = [...kept, ...hostsBind(forwards, scratch)];
  }

  senderAddress(name: string): Promise<string> {
    const known = this.#senders.get(name) ?? this.#addSender(senderAddressOf(this.#senders.size));
    this.#senders.set(name, known);
    return known;
  }

  async #addSender(address: string): Promise<string> {
    await ip(`addr add ${address}/${prefixLength} dev ${bridge}`);
    return address;
  }

  async attachPod(name: string, _options: AttachOptions): Promise<PodNetwork> {
    const number = this.#attached++;
    const pod = new PodNamespace({
      name,
      link: `ld${number}`,
      address: podAddressOf(number),
      fabric: this.#options.fabric,
      shadow: this.#options.shadow,
      plan: typeof this.#options.ownRoot === "string" ? undefined : this.#options.ownRoot.plan,
      binds: this.#binds,
      forwards: this.#options.forwards,
      onDetached: () => this.#pods.delete(pod),
    });
    this.#pods.add(pod);
    await pod.attach();
    return pod;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pods].map((pod) => pod.detach()));
    await ip(`link del ${bridge}`);
    rmSync(this.scratch, { recursive: true, force: true });
  }
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
  const named = forwards.filter(({ host }) => !isIP(host) && host !== "localhost");
  if (named.length === 0 || !existsSync(hosts)) return [];
  const file = join(scratch, "hosts");
  const lines = named.flatMap(({ host, addresses }) => addresses.map((address) => `${address} ${host}\n`));
  // The first line that names a host counts.
  writeFileSync(file, lines.join("") + readFileSync(hosts, "utf8"));
  return [{ from: file, to: hosts }];
}
