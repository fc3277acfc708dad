import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { RequestRecord, RunClock } from "@lameduck/rollout";
import type { Cluster } from "../../cluster/index.ts";
import type { GeneratorPlan } from "./plan.ts";

export interface Source {
  /** The node in whose network the requests begin. */
  readonly machine: string;
  readonly sender: string;
  readonly url: string;
  readonly host?: string;
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

/** The load of a run: one generator per source, in that node's network namespace, sharing the rates. */
export class Fleet {
  readonly #generators: { readonly child: ChildProcess; readonly closed: Promise<unknown> }[] = [];
  readonly #records: RequestRecord[] = [];
  readonly #podAt: (address: string) => string | undefined;

  constructor(cluster: Cluster, options: FleetOptions) {
    this.#podAt = options.podAt;
    for (const { machine, ...source } of options.sources) {
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
      this.#start(cluster, machine, plan);
    }
  }

  #start(cluster: Cluster, machine: string, plan: GeneratorPlan): void {
    const file = join(import.meta.dirname, "generator.ts");
    const { program, args } = cluster.commandInside(machine, [process.execPath, file, JSON.stringify(plan)]);
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
    const closed = once(
      createInterface({ input: child.stdout }).on("line", (line) => this.#take(line)),
      "close",
    );
    this.#generators.push({ child, closed });
  }

  #take(line: string): void {
    const { upstream, ...record } = JSON.parse(line) as RequestRecord & { upstream?: string };
    const address = upstream?.split(",").at(-1)?.trim().split(":")[0];
    const pod = record.pod === undefined && address !== undefined ? this.#podAt(address) : undefined;
    // Unique over all generators.
    const id = this.#records.length;
    this.#records.push(pod === undefined ? { ...record, id } : { ...record, id, pod, podKnownBy: "proxy" });
  }

  get sent(): number {
    return this.#records.length;
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
