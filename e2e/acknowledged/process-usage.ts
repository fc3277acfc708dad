import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { processOf } from "../cluster/container-process.ts";
import type { Cluster } from "../cluster/index.ts";

/** Clock ticks a second, on every Linux that Node runs on. */
const ticks = 100;

interface Sample {
  readonly pid: string;
  /** Seconds of processor time since the process began. */
  readonly busy: number;
  /** performance.now() */
  readonly at: number;
}

interface Most {
  /** Bytes. */
  resident: number;
  /** Of one core, between two readings. */
  cores: number;
}

/** What the processes of a workload's pods cost, from reading to reading. */
export class WorkloadUsage {
  readonly #cluster: Cluster;
  readonly #name: string;
  readonly #query: readonly string[];
  readonly #before = new Map<string, Sample>();
  readonly #most: Most = { resident: 0, cores: 0 };

  /** @param query selects its pods: arguments of `kubectl get pods`. */
  constructor(cluster: Cluster, name: string, query: readonly string[]) {
    this.#cluster = cluster;
    this.#name = name;
    this.#query = query;
  }

  /** One text for people. What cannot be read at present is said, and is no reason to end a long measurement. */
  async read(): Promise<string> {
    const field = '{range .items[*]}{.metadata.namespace} {.metadata.name} {.spec.nodeName}{"\\n"}{end}';
    try {
      const pods = await this.#cluster.field(["pods", ...this.#query], field);
      const each = pods.split("\n").filter((line) => line !== "");
      const texts: string[] = [];
      for (const line of each) texts.push(await this.#readPod(line.split(" ")));
      return `${this.#name} ${texts.join(", ")}`;
    } catch (error) {
      return `${this.#name} could not be read: ${String(error).split("\n", 1)[0]}`;
    }
  }

  /** The most of any of them. */
  get most(): string {
    return `${this.#name} ${text(this.#most)} at most`;
  }

  async #readPod([namespace = "", name = "", node = ""]: readonly string[]): Promise<string> {
    const pid = await processOf(this.#cluster, { name, namespace, node });
    if (pid === undefined) return "no process";
    const files = await this.#cluster.inside(node, ["cat", `/proc/${pid}/stat`, `/proc/${pid}/status`]);
    const at = performance.now();
    const before = this.#before.get(name);
    const busy = busyIn(files);
    this.#before.set(name, { pid, busy, at });
    const cores = before?.pid === pid ? (1_000 * (busy - before.busy)) / (at - before.at) : 0;
    const used = { resident: residentIn(files), cores };
    this.#most.resident = Math.max(this.#most.resident, used.resident);
    this.#most.cores = Math.max(this.#most.cores, used.cores);
    return text(used);
  }
}

/** The memory of a Node process that does nothing, with this environment: what every process of ours has at least. */
export async function idleNode(environment: Readonly<Record<string, string>>): Promise<string> {
  const env = { ...process.env, ...environment };
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"], { env, stdio: "ignore" });
  try {
    await sleep(2_000);
    const resident = residentIn(await readFile(`/proc/${child.pid}/status`, "utf8"));
    return `an idle Node ${(resident / 1e6).toFixed(0)} MB`;
  } finally {
    child.kill("SIGKILL");
  }
}

/** The command's name in parentheses may hold spaces; user and system time are fields 14 and 15. */
export function busyIn(files: string): number {
  const fields = files.slice(files.indexOf(") ") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticks;
}

export const bytesIn = (files: string, key: string): number =>
  Number(new RegExp(`^${key}:\\s+(\\d+) kB`, "m").exec(files)?.[1] ?? 0) * 1_024;
const residentIn = (files: string): number => bytesIn(files, "VmRSS");

const text = ({ resident, cores }: Most): string =>
  `${(resident / 1e6).toFixed(0)} MB and ${(100 * cores).toFixed(1)} % of a core`;
