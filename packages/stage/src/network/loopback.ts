import { rmSync } from "node:fs";
import { type Server, createServer } from "node:net";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type Network, type PodNetwork, nameAt } from "./network.ts";
import { freePort } from "./ports.ts";
import { SocketTable } from "./socket-table.ts";

const perBlock = 250;

/** Not 443: a server that listens there on every address of this machine would be reached. */
const apiServer = { host: "127.0.0.1", port: 1 };
const nodeAddress = "127.0.0.1";

/** Pods as ordinary processes that share loopback: what works without any privilege, on any system. */
export async function openLoopbackNetwork(because: string, scratch: string): Promise<Network> {
  const hosts = await claimHosts();
  const reaper = startReaper();
  const sockets = new SocketTable("/proc/self/net");
  const senders = new Map<string, string>();
  let attached = 0;
  return {
    kind: "shared loopback",
    because,
    scratch,
    nodeAddress,
    apiServer,
    files: "pods write to this machine's own files",
    noImages: `images run in namespaces of Linux: ${because}`,
    keepsNothing: false,
    limits: [
      "pods share this machine's network and reach whatever it reaches",
      "containers are not PID 1: a program without a handler dies at SIGTERM, where in a container it would ignore it",
      "a program that does not obey HOST and PORT, and is not Node, collides with its replicas",
    ],
    senderAddress: (name) => {
      const known = senders.get(name) ?? (hosts ? hostOf(hosts.block, 200, senders.size) : nodeAddress);
      senders.set(name, known);
      return Promise.resolve(known);
    },
    senderAt: (address) => (hosts ? nameAt(senders, address) : undefined),
    attachPod: async (_name, options) => {
      const address = hosts ? hostOf(hosts.block, 0, attached++) : nodeAddress;
      const ports = new Map<number, number>();
      // Ports below 1024 need a privilege that an ordinary process has not; there, and where hosts are few, another one is found.
      for (const port of options.ports) {
        const isOurs = hosts && (port >= 1024 || process.getuid?.() === 0);
        ports.set(port, isOurs ? port : await freePort(address));
      }
      const localPort = (port: number): number => ports.get(port) ?? port;
      return {
        address,
        ownProcesses: false,
        listenHost: address,
        apiServer,
        env: environment(address, ports),
        localPort,
        container: (launch) => launch,
        beside: (_pid, launch) => launch,
        listening: (port) => sockets.listening(localPort(port), address),
        // All pods share this machine's loopback: a listener there may be anybody's.
        loopbackOnly: () => [],
        connections: (port) => (hosts ? sockets.connected(localPort(port), address) : undefined),
        // If all pods have one address, the owner of the port is unknown.
        listeningPorts: () => (hosts ? sockets.ports(address) : []),
        watch: reaper.watch,
        detach: () => Promise.resolve(),
      };
    },
    close: async () => {
      sockets.close();
      hosts?.claim.close();
      await reaper.close();
      rmSync(scratch, { recursive: true, force: true });
    },
  };
}

/** Tells a program where to listen; a program of Node is moved there. */
function environment(address: string, ports: ReadonlyMap<number, number>): PodNetwork["env"] {
  const [first] = ports.values();
  return {
    HOST: address,
    ...(first === undefined ? {} : { PORT: String(first) }),
    LAMEDUCK_LOOPBACK: JSON.stringify({ host: address, ports: Object.fromEntries(ports) }),
    NODE_OPTIONS: `--import ${preload()}`,
  };
}

/** 127.BLOCK.0.0/16, this stage's own for as long as the claim is held. */
interface Hosts {
  readonly block: number;
  readonly claim: Server;
}

/** Nothing serves on it; it is listened on so that a second stage on this machine takes other addresses. */
const claimPort = 52_018;

/** undefined where loopback is one address: Linux answers on all of 127.0.0.0/8, macOS and the BSDs on 127.0.0.1 alone. */
async function claimHosts(): Promise<Hosts | undefined> {
  for (let tried = 0; tried < 128; tried++) {
    const block = 100 + ((process.pid + tried) % 128);
    const claim = createServer((socket) => socket.destroy());
    const error = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
      claim.once("error", resolve);
      claim.listen(claimPort, `127.${block}.255.254`, () => resolve(undefined));
    });
    if (!error) return { block, claim: claim.unref() };
    if (error.code !== "EADDRINUSE") return undefined;
  }
  return undefined;
}

/** The module that moves a hard-coded host and port; compiled, because it is loaded by whatever Node the pods run. */
function preload(): string {
  const compiled = import.meta.filename.endsWith(".ts") ? "../../dist/network/" : "./";
  return new URL(`${compiled}loopback-preload.js`, import.meta.url).href;
}

function hostOf(block: number, part: number, number: number): string {
  return `127.${block}.${part + Math.floor(number / perBlock)}.${(number % perBlock) + 1}`;
}

/**
 * Where pods share the machine's processes, they would outlive a stage that is killed. This shell outlives the stage by an instant: it
 * reads every process group, and kills the remaining ones when its input ends.
 */
const script = `
trap '' INT TERM HUP QUIT
groups=""
while read -r what group; do
  if [ "$what" = + ]; then groups="$groups $group"; continue; fi
  left=""
  for one in $groups; do [ "$one" = "$group" ] || left="$left $one"; done
  groups=$left
done
for one in $groups; do kill -9 "-$one" 2>/dev/null; done
`;

function startReaper() {
  const shell = spawn("sh", ["-c", script], { stdio: ["pipe", "ignore", "ignore"], detached: true });
  const ended = once(shell, "exit").catch(() => undefined);
  shell.stdin.on("error", () => undefined);
  shell.unref();
  return {
    watch: (group: number) => {
      shell.stdin.write(`+ ${group}\n`);
      return { done: () => void shell.stdin.write(`- ${group}\n`) };
    },
    close: async (): Promise<void> => {
      shell.ref();
      shell.stdin.end();
      await ended;
    },
  };
}
