import { freePort } from "./free-port.ts";
import { rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import type { Launch, AttachOptions, Listening, Network, PodNetwork } from "./network.ts";
import { Reaper } from "./reaper.ts";
import { SocketTable } from "./socket-table.ts";

const perBlock = 250;

/** Not 443: a server that listens there on every address of this machine would be reached. */
const apiServer = { host: "127.0.0.1", port: 1 };

/** Pods as ordinary processes that share loopback: what works without any privilege, on any system. */
export async function openLoopbackNetwork(because: string, scratch: string): Promise<Network> {
  return new LoopbackNetwork(because, scratch, await claimHosts());
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

class LoopbackNetwork implements Network {
  readonly kind = "shared loopback" as const;
  readonly because: string;
  readonly scratch: string;
  readonly nodeAddress = "127.0.0.1";
  readonly apiServer = apiServer;
  readonly files = "pods write to this machine's own files";
  readonly keepsNothing = false;
  readonly limits = [
    "pods share this machine's network and reach whatever it reaches",
    "containers are not PID 1: a program without a handler dies at SIGTERM, where in a container it would ignore it",
    "a program that does not obey HOST and PORT, and is not Node, collides with its replicas",
  ];
  readonly #hosts: Hosts | undefined;
  readonly #reaper = new Reaper();
  readonly #sockets = new SocketTable("/proc/self/net");
  readonly #senders = new Map<string, string>();
  #attached = 0;

  constructor(because: string, scratch: string, hosts: Hosts | undefined) {
    this.because = because;
    this.scratch = scratch;
    this.#hosts = hosts;
  }

  senderAddress(name: string): Promise<string> {
    const known =
      this.#senders.get(name) ??
      (this.#hosts ? hostOf(this.#hosts.block, 200, this.#senders.size) : this.nodeAddress);
    this.#senders.set(name, known);
    return Promise.resolve(known);
  }

  async attachPod(_name: string, options: AttachOptions): Promise<PodNetwork> {
    const address = this.#hosts ? hostOf(this.#hosts.block, 0, this.#attached++) : this.nodeAddress;
    const ports = new Map<number, number>();
    // Ports below 1024 need a privilege that an ordinary process has not; there, and where hosts are few, another one is found.
    for (const port of options.ports)
      ports.set(
        port,
        this.#hosts && (port >= 1024 || process.getuid?.() === 0) ? port : await freePort(address),
      );
    return new LoopbackPod(address, ports, this.#reaper, {
      listening: (port) => this.#sockets.listening(port, address),
      // If all pods have one address, the owner of the port is unknown.
      ports: () => (this.#hosts ? this.#sockets.ports(address) : []),
    });
  }

  async close(): Promise<void> {
    this.#sockets.close();
    this.#hosts?.claim.close();
    await this.#reaper.close();
    rmSync(this.scratch, { recursive: true, force: true });
  }
}

/** What can be seen of one pod's listeners. */
interface Listeners {
  readonly listening: (port: number) => Listening;
  readonly ports: () => readonly number[];
}

class LoopbackPod implements PodNetwork {
  readonly address: string;
  readonly ownProcesses = false;
  readonly apiServer = apiServer;
  readonly env: Readonly<Record<string, string>>;
  readonly #ports: ReadonlyMap<number, number>;
  readonly #reaper: Reaper;
  readonly #listeners: Listeners;

  constructor(address: string, ports: ReadonlyMap<number, number>, reaper: Reaper, listeners: Listeners) {
    this.address = address;
    this.#ports = ports;
    this.#reaper = reaper;
    this.#listeners = listeners;
    const [first] = ports.values();
    this.env = {
      HOST: address,
      ...(first === undefined ? {} : { PORT: String(first) }),
      LAMEDUCK_LOOPBACK: JSON.stringify({ host: address, ports: Object.fromEntries(ports) }),
      NODE_OPTIONS: `--import ${preload()}`,
    };
  }

  get listenHost(): string {
    return this.address;
  }

  localPort(port: number): number {
    return this.#ports.get(port) ?? port;
  }

  container(launch: Launch): Launch {
    return launch;
  }

  beside(_pid: number, launch: Launch): Launch {
    return launch;
  }

  listeningPorts(): readonly number[] {
    return this.#listeners.ports();
  }

  listening(port: number): Listening {
    return this.#listeners.listening(this.localPort(port));
  }

  watch(pid: number): { done(): void } {
    return this.#reaper.watch(pid);
  }

  detach(): Promise<void> {
    return Promise.resolve();
  }
}

/** The module that moves a hard-coded host and port; compiled, because it is loaded by whatever Node the pods run. */
function preload(): string {
  const compiled = import.meta.filename.endsWith(".ts") ? "../../dist/network/" : "./";
  return new URL(`${compiled}loopback-preload.js`, import.meta.url).href;
}

function hostOf(block: number, part: number, number: number): string {
  return `127.${block}.${part + Math.floor(number / perBlock)}.${(number % perBlock) + 1}`;
}
