import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StageError } from "../errors.ts";
import type { Launch } from "../runtime/launch.ts";
import { besideScript, containerScript } from "./mounts.ts";
import { nodeAddress, podAddressOf, prefixLength, senderAddressOf } from "./addresses.ts";
import type { AttachOptions, Bind, Network, PodNetwork } from "./network.ts";
import type { Fabric } from "./privileges.ts";
import { run } from "./run.ts";
import { SocketTable } from "./socket-table.ts";

const bridge = "lameduck";
/** Without one of its own a bridge takes the lowest of its ports', and whenever that port goes, pods send to an address that is gone. */
const bridgeAddress = "02:4c:44:00:00:01";

/**
 * Entries of a pod's table of connections. /proc/net/tcp walks the whole table: with the 262,144 entries of an ordinary machine one
 * look for a listener takes 3.8 ms, with these 0.1 ms.
 */
const tableEntries = 4_096;

/** Holds the pod's namespaces while containers come and go, like Kubernetes' pause container. */
const pauseScript = `
set -e
# Not everybody may, and not every machine has the command; HOSTNAME in the environment is set in any case.
hostname "$1" 2>/dev/null || echo "$1" 2>/dev/null > /proc/sys/kernel/hostname || true
cd /proc/sys/net/ipv4
# As containerd sets it: a pod may listen on port 80 without being root.
echo 0 > ip_unprivileged_port_start
# A small table of connections lowers these two; give them back.
echo 65536 > tcp_max_tw_buckets
echo 4096 > tcp_max_syn_backlog
ip link set lo up
echo made
read -r address
ip link set eth0 addrgenmode none
ip addr add "$address" dev eth0
ip link set eth0 up
echo attached
exec sleep infinity
`;

/**
 * Pods see this machine's files, and may be root. A mount point cannot be removed: without this, an nginx told to keep its pid in
 * /dev/null removes the machine's /dev/null when it ends.
 */
const guardDevices = `
for device in null zero full random urandom tty ptmx; do
  if [ -e /dev/$device ]; then mount -n --bind /dev/$device /dev/$device; fi
done`;

/** The network of a process that `enterStage` has put into a namespace of its own. */
export async function openNamespaceNetwork(
  fabric: Exclude<Fabric, { kind: "none" }>,
  scratch: string,
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
  return new NamespaceNetwork(fabric, scratch);
}

class NamespaceNetwork implements Network {
  readonly kind;
  readonly nodeAddress = nodeAddress;
  readonly limits = [];
  readonly scratch: string;
  readonly #fabric: Exclude<Fabric, { kind: "none" }>;
  readonly #shadow: string;
  readonly #senders = new Map<string, Promise<string>>();
  readonly #pods = new Set<PodNamespace>();
  #attached = 0;

  constructor(fabric: Exclude<Fabric, { kind: "none" }>, scratch: string) {
    this.#fabric = fabric;
    this.scratch = scratch;
    this.#shadow = mkdtempSync(join(scratch, "shadow-"));
    this.kind =
      fabric.kind === "root"
        ? ("network namespaces as root" as const)
        : ("network namespaces in a user namespace" as const);
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
      fabric: this.#fabric,
      shadow: this.#shadow,
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

interface PodNamespaceOptions {
  readonly name: string;
  readonly link: string;
  readonly address: string;
  readonly fabric: Fabric;
  /** An empty directory, under which each container mounts what only it sees. */
  readonly shadow: string;
  readonly onDetached: () => void;
}

class PodNamespace implements PodNetwork {
  readonly address: string;
  readonly ownProcesses = true;
  readonly listenHost = "0.0.0.0";
  readonly apiServer = { host: nodeAddress, port: 443 };
  readonly env = {};
  readonly #name: string;
  readonly #link: string;
  readonly #fabric: Fabric;
  readonly #shadow: string;
  readonly #onDetached: () => void;
  #pause: ChildProcess | undefined;
  #sockets: SocketTable | undefined;

  constructor(options: PodNamespaceOptions) {
    const { name, link, address, fabric, shadow, onDetached } = options;
    this.#name = name;
    this.#link = link;
    this.address = address;
    this.#fabric = fabric;
    this.#shadow = shadow;
    this.#onDetached = onDetached;
  }

  async attach(): Promise<void> {
    const pause = spawn("unshare", ["--net", "--uts", "--", "sh", "-c", pauseScript, "pause", this.#name], {
      stdio: "pipe",
      env: { PATH: process.env["PATH"] ?? "/usr/sbin:/usr/bin:/sbin:/bin" },
    });
    this.#pause = pause;
    const said = sayings(pause, this.#name);
    await said("made");
    await ip(
      `link add ${this.#link} type veth peer name eth0 netns ${pause.pid}
link set ${this.#link} addrgenmode none
link set ${this.#link} master ${bridge}
link set ${this.#link} up`,
    );
    pause.stdin.write(`${this.address}/${prefixLength}\n`);
    await said("attached");
    this.#sockets = new SocketTable(`/proc/${pause.pid}/net`);
  }

  localPort(port: number): number {
    return port;
  }

  container(launch: Launch, binds: readonly Bind[]): Launch {
    // Under a user namespace the stage is root of very little: a program that finds itself root and changes its user (nginx)
    // would fail. So containers are again the user who started the stage.
    const asUser =
      this.#fabric.kind === "user"
        ? `unshare --map-user=${this.#fabric.uid} --map-group=${this.#fabric.gid} --`
        : "";
    const namespaces = `/proc/${this.#pause?.pid}/ns`;
    return {
      command: [
        ...words(`nsenter --net=${namespaces}/net --uts=${namespaces}/uts --`),
        ...words("unshare --pid --mount --fork --kill-child --mount-proc --"),
        "sh",
        "-c",
        containerScript,
        "container",
        ...binds.flatMap(({ from, to }) => [from, to]),
        "--",
        ...words(asUser),
        ...launch.command,
      ],
      env: { ...launch.env, LAMEDUCK_STAGE_DIRECTORY: launch.directory, LAMEDUCK_STAGE_SHADOW: this.#shadow },
      directory: "/",
    };
  }

  beside(pid: number, launch: Launch): Launch {
    const user = this.#fabric.kind === "user" ? "--user --preserve-credentials" : "";
    return {
      ...launch,
      command: [
        ...words(`nsenter --target ${pid} ${user} --net --uts --pid --mount --`),
        "sh",
        "-c",
        besideScript,
        "beside",
        launch.directory,
        ...launch.command,
      ],
    };
  }

  listening(port: number): "open" | "closed" | "unknown" {
    return this.#sockets?.listening(port) ?? "unknown";
  }

  listeningPorts(): readonly number[] {
    return this.#sockets?.ports() ?? [];
  }

  watch(): { done(): void } {
    return { done: () => undefined };
  }

  async detach(): Promise<void> {
    const pause = this.#pause;
    if (!pause) return;
    this.#pause = undefined;
    // An open table would keep the namespace, and with it the address, alive.
    this.#sockets?.close();
    this.#sockets = undefined;
    const ended = new Promise((resolve) => pause.once("exit", resolve));
    // The kernel takes namespaces down at its leisure; the address shall be dead when this returns.
    await run("ip", ["link", "del", this.#link]);
    if (pause.exitCode === null && pause.signalCode === null && pause.kill("SIGKILL")) await ended;
    this.#onDetached();
  }
}

/** Waits for the words that the pause script says, one after the other. */
function sayings(child: ChildProcess, pod: string): (word: string) => Promise<void> {
  let heard = "";
  let complaints = "";
  let wake = (): void => undefined;
  child.stdout?.on("data", (data: Buffer) => {
    heard += data.toString();
    wake();
  });
  child.stderr?.on("data", (data: Buffer) => (complaints += data.toString()));
  child.stdin?.on("error", () => undefined);
  let over = false;
  child.on("error", (error) => {
    complaints += error.message;
    over = true;
    wake();
  });
  child.on("close", () => {
    over = true;
    wake();
  });
  return async (word) => {
    while (!heard.includes(word)) {
      if (over)
        throw new StageError(
          "LAMEDUCK_NETWORK_FAILED",
          pod,
          `no network namespace: ${complaints.trim() || "it ended"}`,
        );
      await new Promise<void>((resolve) => (wake = resolve));
    }
  };
}

async function ip(batch: string): Promise<void> {
  const { code, stderr } = await run("ip", ["-batch", "-"], { input: `${batch}\n` });
  if (code !== 0) throw new StageError("LAMEDUCK_NETWORK_FAILED", "ip", stderr.trim().replaceAll("\n", "; "));
}

function words(text: string): string[] {
  return text.split(" ").filter((word) => word !== "");
}
