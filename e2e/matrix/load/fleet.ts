import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { RequestRecord, RunClock } from "@lameduck/accounting";
import type { Cluster } from "../../cluster/index.ts";
import type { AddressKnown, ClientAddresses, GeneratorPlan } from "./plan.ts";
import { ResolvingClient } from "./resolving-client.ts";
import type { Resolution } from "./resolver.ts";

export interface Source {
  /** The node in whose network the requests begin, */
  readonly machine: string;
  /** unless this leads into that of a pod. */
  readonly enter?: readonly string[];
  readonly sender: string;
  readonly url: string;
  /** It finds the pods by itself, by asking this server. */
  readonly dnsServer?: string;
  /** It begins at many addresses of its machine. */
  readonly clients?: ClientAddresses;
}

export interface FleetOptions {
  readonly clock: RunClock;
  readonly sources: readonly Source[];
  readonly newPerSecond: number;
  readonly pooledPerSecond: number;
  readonly slowShare: number;
  readonly maxSeconds: number;
  /** The pod that has an address; an ingress names the address that it chose. */
  readonly podAt: (address: string) => string | undefined;
}

/** What a generator writes. */
type GeneratorLine =
  { readonly sent: number } | { readonly resolution: Resolution } | (RequestRecord & AddressKnown);

/** The load of a run: one generator per source, in that node's network namespace, sharing the rates. */
export class Fleet {
  readonly #generators: {
    readonly child: ChildProcess;
    readonly closed: Promise<unknown>;
    sent: number;
  }[] = [];
  readonly #records: RequestRecord[] = [];
  readonly #podAt: (address: string) => string | undefined;
  /** Those that find the pods by themselves. */
  readonly clients: readonly ResolvingClient[];

  constructor(cluster: Cluster, options: FleetOptions) {
    this.#podAt = options.podAt;
    this.clients = options.sources
      .filter(({ dnsServer }) => dnsServer !== undefined)
      .map(({ sender }) => new ResolvingClient(sender, options.podAt));
    for (const { machine, enter = [], ...source } of options.sources) {
      const share = 1 / options.sources.length;
      const plan: GeneratorPlan = {
        ...source,
        origin: options.clock.origin,
        newPerSecond: options.newPerSecond * share,
        pooledPerSecond: options.pooledPerSecond * share,
        slowShare: options.slowShare,
        timeoutMs: 10_000,
        maxSeconds: options.maxSeconds,
      };
      const file = join(import.meta.dirname, "generator.ts");
      // Before everything else, here and in priority.ts: a load generator that waits for a processor sends late, and takes its own waiting for the pods'.
      const command = [...enter, "nice", "-n", "-20", process.execPath, file, JSON.stringify(plan)];
      this.#start(cluster.commandInside(machine, command), source.sender);
    }
  }

  #start({ program, args }: { program: string; args: readonly string[] }, sender: string): void {
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"], detached: true });
    const number = this.#generators.length;
    const closed = once(
      createInterface({ input: child.stdout }).on("line", (line) => this.#take(line, sender, number)),
      "close",
    );
    this.#generators.push({ child, closed, sent: 0 });
  }

  #take(line: string, sender: string, number: number): void {
    const message = JSON.parse(line) as GeneratorLine;
    const generator = this.#generators[number];
    if ("sent" in message && !("mode" in message)) {
      if (generator !== undefined) generator.sent = message.sent;
    } else if ("resolution" in message)
      this.clients.find((client) => client.name === sender)?.resolved(message.resolution);
    else this.#keep(message, number);
  }

  #keep({ upstream, chosen, ...record }: RequestRecord & AddressKnown, number: number): void {
    const address = chosen ?? upstream?.split(",").at(-1)?.trim().split(":")[0];
    const pod = record.pod === undefined && address !== undefined ? this.#podAt(address) : undefined;
    this.#records.push({
      ...record,
      // Unique over all generators, as are connections: each generator numbers its own from 1.
      id: this.#records.length,
      ...(record.connection === undefined ? {} : { connection: record.connection + number * 1e6 }),
      ...(pod === undefined ? {} : { pod, podKnownBy: chosen === undefined ? "proxy" : "choice" }),
    });
  }

  get sent(): number {
    return this.#generators.reduce((sum, { sent }) => sum + sent, 0);
  }

  /** Nothing is sent until `resume`; what is under way goes on. */
  pause(): void {
    for (const { child } of this.#generators) child.stdin?.write("pause\n");
  }

  resume(): void {
    for (const { child } of this.#generators) child.stdin?.write("resume\n");
  }

  /** Ends the load, waits for what is under way, and returns every request. */
  async stop(): Promise<readonly RequestRecord[]> {
    for (const { child } of this.#generators) child.stdin?.end();
    await Promise.all(this.#generators.map(({ closed }) => closed));
    return this.#records;
  }

  kill(): void {
    for (const { child } of this.#generators) child.kill("SIGKILL");
  }
}
