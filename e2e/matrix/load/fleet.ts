import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { RequestRecord, RunClock } from "@lameduck/accounting";
import type { Cluster } from "../../cluster/index.ts";
import type { AddressKnown, ClientAddresses, ClientKind, GeneratorPlan, Numbered } from "./plan.ts";
import { ResolvingClient } from "./resolving-client.ts";
import type { Resolution } from "./resolver.ts";

export interface Source extends Pick<GeneratorPlan, "host" | "firstNumber"> {
  /** The node in whose network the requests begin, */
  readonly machine: string;
  /** unless this leads into that of a pod. */
  readonly enter?: readonly string[];
  readonly sender: string;
  readonly url: string;
  /** It finds the pods by itself, by asking this server. */
  readonly dnsServer?: string;
  /** It begins at many addresses of its machine. */
  readonly addresses?: ClientAddresses;
}

export interface FleetOptions {
  readonly clock: RunClock;
  readonly sources: readonly Source[];
  readonly newPerSecond: number;
  readonly pooledPerSecond: number;
  readonly slowShare: number;
  readonly maxSeconds: number;
  /** The pod that has an address. An ingress names the address that it chose. */
  readonly podAt?: (address: string) => string | undefined;
  /** Each source has a client of each kind, which share its part of the load. Node's alone unless given. */
  readonly clientKinds?: readonly ClientKind[];
  /** Where `go` is among them. */
  readonly goClient?: string;
}

/** Requests that an ingress has tried at several pods: no client has lost them, but each pod before the last one has. */
export interface Retried {
  requests: number;
  /** Requests for which the ingress could not open a connection. The others failed on an open connection, mostly a kept one. */
  notConnected: number;
}

/** What a generator writes. */
type GeneratorLine =
  | { readonly sent: number }
  | { readonly resolution: Resolution }
  | (Numbered & AddressKnown);

/**
 * The load of a run. Each source has a generator in its node's network namespace, and one in Go where that is asked for. The generators share the
 * rates.
 */
export class Fleet {
  readonly #generators: {
    readonly child: ChildProcess;
    readonly closed: Promise<unknown>;
    sent: number;
  }[] = [];
  readonly #records: Numbered[] = [];
  readonly #podAt: (address: string) => string | undefined;
  readonly retried: Retried = { requests: 0, notConnected: 0 };
  /** Those that find the pods by themselves. */
  readonly clients: readonly ResolvingClient[];

  constructor(cluster: Cluster, options: FleetOptions) {
    const { podAt = () => undefined } = options;
    this.#podAt = podAt;
    this.clients = options.sources
      .filter(({ dnsServer }) => dnsServer !== undefined)
      .map(({ sender }) => new ResolvingClient(sender, podAt));
    const kinds = options.clientKinds ?? ["lifo"];
    const programs = [kinds.filter((kind) => kind !== "go"), kinds.filter((kind) => kind === "go")]
      .filter((clients) => clients.length > 0)
      .flatMap((clients) => options.sources.map((source) => ({ ...source, clients })));
    for (const { machine, enter = [], ...source } of programs) {
      const share = source.clients.length / kinds.length / options.sources.length;
      const plan: GeneratorPlan = {
        ...source,
        origin: options.clock.origin,
        newPerSecond: options.newPerSecond * share,
        pooledPerSecond: options.pooledPerSecond * share,
        slowShare: options.slowShare,
        timeoutMs: 10_000,
        maxSeconds: options.maxSeconds,
      };
      const program =
        source.clients[0] === "go"
          ? [options.goClient ?? ""]
          : [process.execPath, join(import.meta.dirname, "generator.ts")];
      // Before everything else, here and in priority.ts: a load generator that waits for a processor sends late, and takes its own waiting for the pods'.
      const command = [...enter, "nice", "-n", "-20", ...program, JSON.stringify(plan)];
      this.#start(cluster.commandInside(machine, command), plan);
    }
  }

  #start({ program, args }: { program: string; args: readonly string[] }, { sender }: GeneratorPlan): void {
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

  #keep({ upstream, chosen, ...record }: Numbered & AddressKnown, number: number): void {
    const { addresses, notConnected } = triedAt(upstream);
    const retries = addresses.length - 1;
    if (retries > 0) this.retried.requests++;
    if (retries > 0 && notConnected) this.retried.notConnected++;
    const address = chosen ?? addresses.at(-1)?.split(":")[0];
    const pod = record.pod === undefined && address !== undefined ? this.#podAt(address) : undefined;
    this.#records.push({
      ...record,
      ...(retries > 0 ? { retries } : {}),
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
  async stop(): Promise<readonly Numbered[]> {
    for (const { child } of this.#generators) child.stdin?.end();
    await Promise.all(this.#generators.map(({ closed }) => closed));
    return this.#records;
  }

  kill(): void {
    for (const { child } of this.#generators) child.kill("SIGKILL");
  }
}

/** The load did not lose what it could not send. */
export const isLost = ({ outcome }: RequestRecord): boolean => outcome !== "ok" && outcome !== "not-sent";

/**
 * What a proxy says of its tries: the address of each. ingress-nginx.tmpl also says for how long each connection was opened, and "-" for a connection
 * that was not.
 */
function triedAt(upstream = ""): { readonly addresses: readonly string[]; readonly notConnected: boolean } {
  const [addresses = [], opened = []] = upstream
    .split(";")
    .map((part) => part.split(",").map((one) => one.trim()));
  return { addresses, notConnected: opened.includes("-") };
}
