import { spawn, type ChildProcess } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Cluster } from "../../cluster/index.ts";
import type { EnvoyPod } from "./envoy-pods.ts";

/** What Envoy's log says of a request. */
export interface Logged {
  /** Whether its connection to the pod had carried a request before. */
  readonly reused: boolean;
  readonly flags: string;
  readonly details: string;
  /** Undefined where no pod was chosen. */
  readonly address: string | undefined;
}

/** As in: 2026-11-21T20:01:11.123456789Z stdout F {"request":"12", ...} */
const logLine = /^\S+ stdout F (\{.*\})$/;

/** Follows the access log of one Envoy: which request it sent on which connection to which pod. */
export class AccessLog implements Disposable {
  readonly #tail: ChildProcess;
  readonly #requests = new Map<number, Logged>();
  /** By both addresses. */
  readonly #connections = new Set<string>();

  private constructor(log: string) {
    // It ends with us, however we end. Without a last line that is from before.
    this.#tail = spawn("tail", ["-n", "0", "-F", `--pid=${process.pid}`, log], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    createInterface({ input: this.#tail.stdout! }).on("line", (line) => {
      const [, json] = logLine.exec(line) ?? [];
      if (json !== undefined)
        this.#take(JSON.parse(json) as Readonly<Record<string, string | number | null>>);
    });
  }

  static async of(cluster: Cluster, { name, namespace, node }: EnvoyPod): Promise<AccessLog> {
    const logs = join(cluster.directory, node, "var", "log", "pods");
    const own = (await readdir(logs)).find((entry) => entry.startsWith(`${namespace}_${name}_`)) ?? "";
    return new AccessLog(join(logs, own, "envoy", "0.log"));
  }

  of(request: number): Logged | undefined {
    return this.#requests.get(request);
  }

  [Symbol.dispose](): void {
    this.#tail.kill("SIGKILL");
  }

  #take(entry: Readonly<Record<string, string | number | null>>): void {
    const { request, upstream_host: host, upstream_local_address: local } = entry;
    const number = Number(request);
    if (typeof request !== "string" || !Number.isInteger(number)) return;
    // No pod was chosen where there is no address.
    const address = typeof host === "string" ? /^(.+):\d+$/.exec(host)?.[1] : undefined;
    const connection = address !== undefined && typeof local === "string" ? `${local} ${host}` : undefined;
    const flags = String(entry["response_flags"] ?? "");
    this.#requests.set(number, {
      // A connection that could not be opened has no address of its own in some versions.
      reused: connection !== undefined && !flags.includes("UF") && this.#connections.has(connection),
      flags,
      details: String(entry["response_code_details"] ?? ""),
      address,
    });
    if (connection !== undefined) this.#connections.add(connection);
  }
}
