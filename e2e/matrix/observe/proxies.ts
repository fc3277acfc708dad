import { spawn, type ChildProcess } from "node:child_process";
import type { RunClock, SenderEvent } from "@lameduck/accounting";
import type { Cluster } from "../../cluster/index.ts";

/** Rules are looked at so long after the kernel told of a change: one sync is many messages. */
const settleMs = 25;

/**
 * Learns from the kernel when a node's kube-proxy has taken up or dropped a pod: `nft monitor` tells that the rules changed, and the rules
 * themselves, read then, which pods new connections can reach. That is the sender's convergence, seen and not guessed.
 */
export class ProxyObserver implements Disposable {
  readonly events: SenderEvent[] = [];
  readonly node: string;
  /** Called after the pods that it reaches have been looked at again, with the time of the change. */
  onChange: ((at: number) => void) | undefined;
  readonly #cluster: Cluster;
  readonly #sender: string;
  readonly #clock: RunClock;
  readonly #port: number;
  readonly #podAt: (address: string) => string | undefined;
  readonly #monitor: ChildProcess;
  #known: ReadonlySet<string> = new Set();
  #timer: NodeJS.Timeout | undefined;
  #changedAt = 0;
  #reading: Promise<void> = Promise.resolve();

  constructor(
    cluster: Cluster,
    options: {
      node: string;
      sender: string;
      clock: RunClock;
      port: number;
      podAt: (address: string) => string | undefined;
    },
  ) {
    this.#cluster = cluster;
    this.node = options.node;
    this.#sender = options.sender;
    this.#clock = options.clock;
    this.#port = options.port;
    this.#podAt = options.podAt;
    const { program, args } = cluster.commandInside(options.node, ["nft", "monitor"]);
    this.#monitor = spawn(program, args, { stdio: ["ignore", "pipe", "ignore"] });
    this.#monitor.stdout?.on("data", () => this.#changed());
    this.#changed();
  }

  /** The pods that new connections can reach now. */
  get reaches(): ReadonlySet<string> {
    return this.#known;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#monitor.kill("SIGKILL");
  }

  #changed(): void {
    this.#changedAt = this.#clock.now();
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#reading = this.#reading.then(() => this.#look(this.#changedAt));
    }, settleMs);
  }

  async #look(at: number): Promise<void> {
    const addresses = await this.#destinations();
    // No table yet, or it has changed while it was read: the next change is near.
    if (addresses === undefined) return;
    const now = new Set([...addresses].map(this.#podAt).filter((pod) => pod !== undefined));
    this.events.push(...changes(at, this.#sender, this.#known, now));
    this.#known = now;
    this.onChange?.(at);
  }

  async #destinations(): Promise<Set<string> | undefined> {
    const iptables = this.#cluster.settings.proxyMode === "iptables";
    const command = iptables ? ["iptables-save", "-t", "nat"] : ["nft", "list", "table", "ip", "kube-proxy"];
    const rules = await this.#cluster.inside(this.node, command).catch(() => undefined);
    if (rules === undefined) return undefined;
    const pattern = iptables
      ? new RegExp(`--to-destination ([0-9.]+):${this.#port}\\b`, "g")
      : // As in: numgen random mod 2 map { 0 : 198.18.128.14 . 8080, 1 : 198.18.129.8 . 8080 }
        new RegExp(`: ([0-9.]+) \\. ${this.#port}\\b`, "g");
    return new Set(Array.from(rules.matchAll(pattern), ([, address = ""]) => address));
  }
}

/** What a sender has taken up and dropped. */
export function changes(
  at: number,
  sender: string,
  before: ReadonlySet<string>,
  now: ReadonlySet<string>,
): SenderEvent[] {
  const added = [...now].filter((pod) => !before.has(pod));
  const dropped = [...before].filter((pod) => !now.has(pod));
  return [
    ...added.map((pod) => ({ at, sender, type: "added", pod }) as const),
    ...dropped.map((pod) => ({ at, sender, type: "converged", pod }) as const),
  ];
}

/** Whoever chooses the pod that a request goes to, as far as it can be watched. */
export interface Sender {
  readonly events: readonly SenderEvent[];
  /** The pods that it sends to now. */
  readonly reaches: ReadonlySet<string>;
}
