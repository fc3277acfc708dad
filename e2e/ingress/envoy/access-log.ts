import type { Cluster } from "../../cluster/index.ts";
import { followLog } from "../pod-log.ts";
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

type Entry = Readonly<Record<string, string | number | null>>;

/** Follows the access log of one Envoy: which request it sent on which connection to which pod. */
export class AccessLog implements Disposable {
  readonly #requests = new Map<number, Logged>();
  /** By both addresses. */
  readonly #connections = new Set<string>();
  #following: Disposable | undefined;

  static async of(cluster: Cluster, pod: EnvoyPod): Promise<AccessLog> {
    const log = new AccessLog();
    // What is there has the numbers of another run's requests.
    log.#following = await followLog(cluster, pod, "envoy", "now", (text) => {
      if (text.startsWith("{") && text.endsWith("}")) log.#take(JSON.parse(text) as Entry);
    });
    return log;
  }

  of(request: number): Logged | undefined {
    return this.#requests.get(request);
  }

  [Symbol.dispose](): void {
    this.#following?.[Symbol.dispose]();
  }

  #take(entry: Entry): void {
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
