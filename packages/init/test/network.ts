/**
 * Network namespaces of the tests' own: one for the pod, one for its senders, a cable between them and no way out. Each sender
 * has its own address of 198.18.0.0/15, as nodes and ingress proxies have.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { Running, endThose } from "./running.ts";

const podAddress = "198.18.0.1";

export class Network implements AsyncDisposable {
  readonly pod = podAddress;
  readonly #pod: Running;
  readonly #senders: Running;

  private constructor(pod: Running, senders: Running) {
    this.#pod = pod;
    this.#senders = senders;
  }

  /** `senders`: how many addresses there are to send from, 198.18.1.1 and on. */
  static async create(senders = 3): Promise<Network> {
    const [pod, others] = [holder(), holder()];
    await Promise.all([pod.line("up"), others.line("up")]);
    const network = new Network(pod, others);
    must(
      "ip",
      "link",
      "add",
      "pod",
      "netns",
      String(pod.pid),
      "type",
      "veth",
      "peer",
      "name",
      "senders",
      "netns",
      String(others.pid),
    );
    network.inPod("ip", "address", "add", `${podAddress}/15`, "dev", "pod");
    network.inPod("ip", "link", "set", "pod", "up");
    for (let i = 1; i <= senders; i++)
      network.#inSenders("ip", "address", "add", `${senderAddress(i)}/15`, "dev", "senders");
    network.#inSenders("ip", "link", "set", "senders", "up");
    return network;
  }

  inPod(...command: string[]): void {
    must(...this.asPod(...command));
  }

  /** Of the process that keeps the pod's namespace. */
  get pid(): number {
    return this.#pod.pid;
  }

  /** Handshakes that the pod's kernel turned away because an accept queue was full. */
  overflows(): number {
    const [command, ...rest] = this.asPod("cat", "/proc/net/netstat");
    const [names, values] = execFileSync(command, rest, { encoding: "utf8" })
      .split("\n")
      .filter((line) => line.startsWith("TcpExt:"))
      .map((line) => line.split(" "));
    return Number(values?.[names?.indexOf("ListenOverflows") ?? -1]);
  }

  /** As a node does that takes a pod's network away while it runs: nothing passes any more, and nobody is told. */
  cut(): void {
    this.#inSenders("ip", "link", "set", "senders", "down");
  }

  /** As Calico does beside another CNI, and with eBPF: what the pod sends is dropped. */
  drop(): void {
    this.#inSenders("nft", "add", "table", "ip", "node");
    this.#inSenders("nft", "add chain ip node in { type filter hook input priority 0; policy drop; }");
  }

  /** The sender of that number is gone, and nobody is told. */
  vanish(sender: number): void {
    this.#inSenders("ip", "address", "delete", `${senderAddress(sender)}/15`, "dev", "senders");
  }

  #inSenders(...command: string[]): void {
    must(...this.asSender(...command));
  }

  /** The command line that runs `command` where the pod is, in a process namespace of its own. */
  asPod(...command: string[]): [string, ...string[]] {
    return ["nsenter", namespaceOf(this.#pod.pid), "--", ...command];
  }

  asSender(...command: string[]): [string, ...string[]] {
    return ["nsenter", namespaceOf(this.#senders.pid), "--", ...command];
  }

  /** Ends all that still runs in it. */
  async [Symbol.asyncDispose](): Promise<void> {
    endThose((command) => [this.#pod, this.#senders].some(({ pid }) => command.includes(namespaceOf(pid))));
    this.#pod.kill("SIGKILL");
    this.#senders.kill("SIGKILL");
    await Promise.all([this.#pod.ended, this.#senders.ended]);
  }
}

export function senderAddress(index: number): string {
  return `198.18.1.${index}`;
}

function namespaceOf(pid: number): string {
  return `--net=/proc/${pid}/ns/net`;
}

function holder(): Running {
  return new Running("unshare", ["--net", "sh", "-c", "ip link set lo up && echo up && exec sleep 600"]);
}

function must(...[command = "", ...rest]: string[]): void {
  const { status, stderr } = spawnSync(command, rest, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${rest.join(" ")}: ${stderr}`);
}
