import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { StageError } from "../errors.ts";
import type { Launch, Bind, PodNetwork } from "../network/network.ts";
import { apiServer, prefixLength } from "./addresses.ts";
import { hostLines, type Forward } from "../network/forward.ts";
import { listenForwards } from "../network/forward-listeners.ts";
import { ip, run, words } from "../network/run.ts";
import { besideOnImage, launchOnImage } from "./image-root.ts";
import type { ImageTools } from "./image-tools.ts";
import { isBelow, besideScript, containerScript } from "./mounts.ts";
import type { Fabric } from "./privileges.ts";
import { parentOf } from "../runtime/children.ts";
import { Output } from "../runtime/output.ts";
import { SocketTable } from "../network/socket-table.ts";

export const bridge = "lameduck";

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

interface PodNamespaceOptions {
  readonly name: string;
  readonly link: string;
  readonly address: string;
  readonly fabric: Exclude<Fabric, { kind: "none" }>;
  /** An empty directory, under which each container mounts what only it sees. */
  readonly shadow: string;
  /** Plan of a root of the containers' own, if they can have one. */
  readonly plan: string | undefined;
  /** Present where a root of an image can be had. */
  readonly tools: ImageTools | undefined;
  /** For every container. */
  readonly binds: readonly Bind[];
  readonly forwards: readonly Forward[];
  /** For files of this pod alone. */
  readonly scratch: string;
  readonly onDetached: () => void;
}

/** One pod in namespaces of its own. */
export class PodNamespace implements PodNetwork {
  readonly address: string;
  readonly ownProcesses = true;
  readonly listenHost = "0.0.0.0";
  readonly apiServer = apiServer;
  readonly env = {};
  readonly #options: PodNamespaceOptions;
  #pause: ChildProcess | undefined;
  #stopForwards: () => void = () => undefined;
  #sockets: SocketTable | undefined;
  #files: string | undefined;

  constructor(options: PodNamespaceOptions) {
    this.#options = options;
    this.address = options.address;
  }

  async attach(): Promise<void> {
    const { name, link, forwards } = this.#options;
    const pause = spawn(
      "unshare",
      ["--net", "--uts", "--ipc", "--", "sh", "-c", pauseScript, "pause", name],
      { env: { PATH: process.env["PATH"] ?? "/usr/sbin:/usr/bin:/sbin:/bin" } },
    );
    this.#pause = pause;
    const printed = expectLines(pause, name);
    await printed("made");
    await ip(
      `link add ${link} type veth peer name eth0 netns ${pause.pid}
link set ${link} addrgenmode none
link set ${link} master ${bridge}
link set ${link} up`,
    );
    pause.stdin.write(`${this.address}/${prefixLength}\n`);
    await printed("attached");
    this.#stopForwards = await listenForwards(forwards, words(`nsenter --net=/proc/${pause.pid}/ns/net --`));
    this.#sockets = new SocketTable(`/proc/${pause.pid}/net`);
  }

  localPort(port: number): number {
    return port;
  }

  container(launch: Launch, binds: readonly Bind[]): Launch {
    if (launch.root) {
      const { fabric, shadow } = this.#options;
      return launchOnImage(launch, launch.root, [...this.#ownFiles(), ...binds], {
        fabric,
        shadow,
        enter: this.#enter(),
        tools: this.#tools(),
      });
    }
    // Under a user namespace the stage is root of very little: a program that finds itself root and changes its user (nginx)
    // would fail. So containers are again the user who started the stage.
    const { fabric, shadow, plan = "" } = this.#options;
    const asUser =
      fabric.kind === "user" ? `unshare --map-user=${fabric.uid} --map-group=${fabric.gid} --` : "";
    return {
      command: [
        ...this.#enter(),
        ...words("unshare --pid --mount --fork --kill-child --mount-proc --"),
        "sh",
        "-c",
        containerScript,
        "container",
        ...[...this.#options.binds, ...binds].flatMap((bind) => [this.#howMade(bind), bind.from, bind.to]),
        "--",
        ...words(asUser),
        ...launch.command,
      ],
      env: {
        ...launch.env,
        LAMEDUCK_STAGE_DIRECTORY: launch.directory,
        LAMEDUCK_STAGE_SHADOW: shadow,
        LAMEDUCK_STAGE_ROOT: plan,
      },
      directory: "/",
    };
  }

  #tools(): ImageTools {
    const { name, tools } = this.#options;
    if (tools) return tools;
    throw new StageError("LAMEDUCK_NETWORK_FAILED", name, "no image can be run here");
  }

  #enter(): string[] {
    const namespaces = `/proc/${this.#pause?.pid}/ns`;
    return words(`nsenter --net=${namespaces}/net --uts=${namespaces}/uts --ipc=${namespaces}/ipc --`);
  }

  /** What the kubelet puts into the root of every image: names and no name server. */
  #ownFiles(): Bind[] {
    const { name, scratch, forwards } = this.#options;
    const folder = this.#files ?? mkdtempSync(join(scratch, "files-"));
    if (this.#files === undefined) {
      chmodSync(folder, 0o755);
      const local = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n";
      writeFileSync(join(folder, "hosts"), `${local}${this.address} ${name}\n${hostLines(forwards)}`);
      writeFileSync(join(folder, "hostname"), `${name}\n`);
      writeFileSync(join(folder, "resolv.conf"), "");
      this.#files = folder;
    }
    return ["hosts", "hostname", "resolv.conf"].map((file) => ({
      from: join(folder, file),
      to: `/etc/${file}`,
      isFile: true,
    }));
  }

  /** Files outside of a root of the containers' own are this machine's. */
  #howMade({ to: path, isFile = false }: Bind): string {
    const { plan, binds } = this.#options;
    const isOurs = plan === undefined || binds.some(({ to }) => isBelow(path, to));
    return isFile ? (isOurs ? "provide_file" : "make_file") : isOurs ? "provide" : "mkdir -p";
  }

  beside(pid: number, launch: Launch): Launch {
    if (launch.root) {
      const { fabric } = this.#options;
      // One that has just ended has no parent, and nothing can be run in it.
      const container = { pid, parent: parentOf(pid) ?? pid };
      return besideOnImage(container, launch, launch.root, { fabric, tools: this.#tools() });
    }
    const user = this.#options.fabric.kind === "user" ? "--user --preserve-credentials" : "";
    return {
      ...launch,
      command: [
        ...words(`nsenter --target ${pid} ${user} --net --uts --ipc --pid --mount --`),
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

  loopbackOnly(port: number): readonly string[] {
    return this.#sockets?.loopbackOnly(port) ?? [];
  }

  connections(port: number): readonly string[] | undefined {
    return this.#sockets?.connected(port);
  }

  listeningPorts(): readonly number[] {
    const { forwards } = this.#options;
    return (this.#sockets?.ports() ?? []).filter(
      (port) => !forwards.some((forward) => forward.port === port),
    );
  }

  watch(): { done(): void } {
    return { done: () => undefined };
  }

  async detach(): Promise<void> {
    const pause = this.#pause;
    if (!pause) return;
    this.#pause = undefined;
    // An open table would keep the namespace, and with it the address, alive.
    this.#stopForwards();
    this.#sockets?.close();
    this.#sockets = undefined;
    const ended = new Promise((resolve) => pause.once("exit", resolve));
    // The kernel takes namespaces down at its leisure; the address shall be dead when this returns.
    await run("ip", ["link", "del", this.#options.link]);
    if (pause.exitCode === null && pause.signalCode === null && pause.kill("SIGKILL")) await ended;
    if (this.#files !== undefined) rmSync(this.#files, { recursive: true, force: true });
    this.#options.onDetached();
  }
}

/** Waits for the words that the pause script says, one after the other. */
function expectLines(child: ChildProcessWithoutNullStreams, pod: string): (word: string) => Promise<void> {
  const errors = new Output();
  errors.read(child.stderr);
  child.on("error", ({ message }) => errors.add(message));
  child.stdin.on("error", () => undefined);
  const over = once(child, "close").catch(() => undefined);
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return async (word) => {
    for (;;) {
      const { value, done } = await lines.next();
      if (value === word) return;
      if (!done) continue;
      await over;
      const problem = `no network namespace: ${errors.tail().join("\n") || "it ended"}`;
      throw new StageError("LAMEDUCK_NETWORK_FAILED", pod, problem);
    }
  };
}
