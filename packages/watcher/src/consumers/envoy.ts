import { shown } from "@lameduck/drain/common";
import { addressOf, canonicalAddress, usedOf } from "@lameduck/protocol";
import { envoy as facts } from "@lameduck/senders";
import { askHttp, atUrl, fieldsOf, listOf, readJson } from "./ask.ts";
import { type PanicThresholds, PanicReader } from "./envoy-panic.ts";
import { unreadable, type Consumer, type ConsumerKind } from "../consumer.ts";

/**
 * Envoy's main thread answers. Its workers take the new state over at the next turn of their event loops. Envoy's watchdog looks every 200 ms. It
 * counts each worker that has not turned for 200 ms, and once more after a second. Where the count stays the same for this long, every worker has
 * turned.
 */
const settledMs = 700;
/** The same, where a worker may have been counted just before. */
const settledAfterMissMs = 1_100;
/** The same, where Envoy's `stats_matcher` keeps no such statistics: nothing shows whether a worker stands still. */
const unseenSettledMs = 2_000;

/** An address that is not in use any more, as far as the main thread knows. */
interface Leaving {
  /** Since when the watchdogs have counted nothing, milliseconds; and what they had counted then. */
  readonly since: number;
  readonly misses: string;
  /** Flushes of the statistics before. */
  readonly flushes: number;
}

/**
 * Envoy, by its administration interface. A host is let go of when it is no longer listed. A listed host is let go of when EDS says that it drains
 * and Envoy is not in panic mode. Envoy is in panic mode while too few other hosts are healthy, and may then choose any host that is listed. In both
 * cases the workers must have had time to take the change over. Envoy still chooses a host whose removal waits for a health check.
 * @param socketPath a Unix socket at which the interface listens.
 */
export function envoy(admin: URL, socketPath?: string): Consumer {
  const ask = (path: string, signal: AbortSignal): Promise<string> =>
    askHttp(new URL(path, admin), signal, socketPath === undefined ? {} : { socketPath });
  const place = socketPath ?? admin.href;
  const leaving = new Map<string, Leaving>();
  const turns = new Turns();
  const panic = new PanicReader(ask, place);
  return {
    kind: facts.name,
    basis: "state",
    stillUsed: async (addresses, signal) => {
      const clusters = clustersIn(await ask("/clusters?format=json", signal), place);
      const listed = usedOf(
        addresses,
        hostsInUse(clusters, () => Infinity),
      );
      const isChosen = hostsInUse(clusters, () => 0);
      const drains = [...listed].some((address) => !isChosen.has(address));
      const used = drains ? usedOf(addresses, hostsInUse(clusters, await panic.read(signal))) : listed;
      const gone = new Set(addresses.filter((address) => !used.has(address)));
      for (const address of leaving.keys()) if (!gone.has(address)) leaving.delete(address);
      // Nobody asks for an address at the start: then everything is asked that will be needed.
      if (gone.size === 0 && addresses.length > 0) return used;
      // Of a process that has just started it lists nothing. It may still be given an address that was withdrawn before.
      requireInitialised(await ask("/server_info", signal), place);
      const workers = workersIn(await ask(`/stats?format=json&filter=${ofWorkers}`, signal), place);
      const now = performance.now();
      turns.look(workers, now);
      for (const address of gone) {
        const { misses } = workers;
        const { flushes } = turns;
        const known = leaving.get(address) ?? { since: now, misses, flushes };
        leaving.set(address, known.misses === misses ? known : { ...known, since: now, misses });
        if (!turns.haveAll(leaving.get(address) ?? known, now)) used.add(address);
      }
      return used;
    },
    reason: () =>
      leaving.size > 0 && turns.areInDoubt ? "a worker has stood still for a second" : undefined,
    rest: () => leaving.clear(),
  };
}

/**
 * Each worker has turned when Envoy has flushed its statistics twice: it collects from each worker for a flush. The first flush may have begun
 * before.
 */
const enoughFlushes = 2;
/** A flush so many seconds after one that was seen is not the next: only a worker that stands still for so long delays it that much. */
const enoughFlushSeconds = 60;

/** Whether each worker has turned since an address was gone. */
class Turns {
  flushes = 0;
  #flushed: number | undefined;
  #misses = "";
  /** Since when the counts are these, milliseconds. */
  #since = -Infinity;
  /** Counts of workers that have turned since. */
  #calm = "";
  /** Long stalls that were counted, and the flushes before that was seen. A worker may still be in the last of them, and is not counted any more. */
  #long = { misses: 0, flushes: -Infinity };

  look({ misses, counted, longMisses, flushed }: Workers, now: number): void {
    const seconds = (flushed ?? 0) - (this.#flushed ?? 0);
    if (flushed !== this.#flushed) this.flushes += seconds >= enoughFlushSeconds ? enoughFlushes : 1;
    this.#flushed = flushed;
    if (misses !== this.#misses) this.#since = now;
    this.#misses = misses;
    const flushes = longMisses === 0 ? -Infinity : this.flushes;
    if (longMisses !== this.#long.misses) this.#long = { misses: longMisses, flushes };
    if (counted === 0 || now - this.#since >= settledAfterMissMs) this.#calm = misses;
  }

  /** One may be in a stall that is not counted any more. */
  get areInDoubt(): boolean {
    return this.flushes - this.#long.flushes < enoughFlushes;
  }

  haveAll({ since, flushes }: Leaving, now: number): boolean {
    if (this.flushes - flushes >= enoughFlushes) return true;
    if (this.areInDoubt && this.#flushed !== undefined) return false;
    if (this.areInDoubt || this.#misses === "") return now - since >= unseenSettledMs;
    return now - since >= (this.#misses === this.#calm ? settledMs : settledAfterMissMs);
  }
}

/** @throws {OperatorError} where Envoy does not serve yet, or the answer is none of Envoy's. */
export function requireInitialised(text: string, place: string): void {
  const { state } = fieldsOf(readJson(text, place), place);
  // It drains while its own pod ends: it still serves.
  if (state !== "LIVE" && state !== "DRAINING")
    throw unreadable(place, `it is not initialised: ${shown(state)}`);
}

/** What Envoy's statistics say of its worker threads. */
export interface Workers {
  /** What the watchdog has counted, as a text to be compared; empty where Envoy keeps no such counts. */
  readonly misses: string;
  readonly counted: number;
  readonly longMisses: number;
  /** Seconds from Envoy's start to its last flush of the statistics; undefined where they are not kept. */
  readonly flushed: number | undefined;
}

const ofWorkers = encodeURIComponent("worker.*watchdog_(mega_)?miss$|^server.uptime$");

/** @throws {OperatorError} where the answer is none of Envoy's. */
export function workersIn(text: string, place: string): Workers {
  const { stats } = fieldsOf(readJson(text, place), place);
  if (!Array.isArray(stats)) throw unreadable(place, "it has no stats");
  const counts = new Map(
    stats.flatMap((stat) => {
      const { name, value, histograms } = fieldsOf(stat, place);
      // Some versions add how they would print those, if there were any.
      if (histograms !== undefined) return [];
      if (typeof name !== "string" || typeof value !== "number")
        throw unreadable(place, "a stat has no name or no value");
      return [[name, value] as const];
    }),
  );
  const flushed = counts.get("server.uptime");
  counts.delete("server.uptime");
  const all = [...counts].sort(([one], [other]) => (one < other ? -1 : 1));
  const sumOf = (some: typeof all): number => some.reduce((sum, [, value]) => sum + value, 0);
  return {
    misses: all.map(([name, value]) => `${name} ${value}`).join(" "),
    counted: sumOf(all),
    longMisses: sumOf(all.filter(([name]) => name.endsWith("watchdog_mega_miss"))),
    flushed,
  };
}

export interface Cluster {
  readonly name: string;
  readonly hosts: readonly Host[];
}

/** @throws {OperatorError} where the answer is none of Envoy's. */
export function clustersIn(text: string, place: string): readonly Cluster[] {
  const { cluster_statuses: clusters } = fieldsOf(readJson(text, place), place);
  if (!Array.isArray(clusters)) throw unreadable(place, "it has no cluster_statuses");
  return clusters.map((cluster) => {
    const { name, host_statuses: hosts } = fieldsOf(cluster, place);
    // A cluster whose name is not known is one of which nothing is.
    return {
      name: typeof name === "string" ? name : "",
      hosts: listOf(hosts, place).flatMap((entry) => hostOf(entry, place)),
    };
  });
}

/** The hosts to which Envoy may send. One that drains is none of them while enough others of its priority are healthy. */
export function hostsInUse(clusters: readonly Cluster[], threshold: PanicThresholds): ReadonlySet<string> {
  const used = new Set<string>();
  for (const { name, hosts } of clusters) {
    const isCalm = calmPriorities(hosts, threshold(name));
    for (const { address, drains, priority } of hosts) if (!drains || !isCalm(priority)) used.add(address);
  }
  return used;
}

/** Envoy leaves hosts that drain out of the count since some version. Here they count: fewer are let go of. */
function calmPriorities(hosts: readonly Host[], threshold: number): (priority: number) => boolean {
  const all = new Map<number, { healthy: number; listed: number }>();
  for (const { priority, isHealthy } of hosts) {
    const { healthy, listed } = all.get(priority) ?? { healthy: 0, listed: 0 };
    all.set(priority, { healthy: healthy + (isHealthy ? 1 : 0), listed: listed + 1 });
  }
  return (priority) => {
    const { healthy = 0, listed = 0 } = all.get(priority) ?? {};
    return 100 * healthy >= threshold * listed;
  };
}

interface Host {
  readonly address: string;
  readonly priority: number;
  readonly isHealthy: boolean;
  readonly drains: boolean;
}

/** Empty for entries that are no pods: pipes, and internal listeners that lead to no address. */
function hostOf(entry: unknown, place: string): Host[] {
  const host = fieldsOf(entry, place);
  const { eds_health_status: edsStatus = "HEALTHY", ...failures } = fieldsOf(
    host["health_status"] ?? {},
    place,
  );
  const address = podOf(fieldsOf(host["address"], place), place);
  if (address === undefined) return [];
  // 0 is not written.
  const { priority = 0 } = host;
  if (typeof priority !== "number") throw unreadable(place, "a host has a priority that is no number");
  // Every other field there is a reason to be unhealthy.
  const hasFailed = Object.values(failures).some((value) => value !== false);
  const isHealthy =
    !hasFailed && (edsStatus === "HEALTHY" || edsStatus === "UNKNOWN" || edsStatus === "DEGRADED");
  return [{ address, priority, isHealthy, drains: edsStatus === "DRAINING" }];
}

function podOf(host: Readonly<Record<string, unknown>>, place: string): string | undefined {
  const { socket_address: socket, envoy_internal_address: internal } = host;
  if (socket === undefined && internal === undefined) {
    if (host["pipe"] !== undefined) return undefined;
    throw unreadable(place, "a host has an address of an unknown kind");
  }
  if (socket === undefined) {
    // Through an own listener, which tunnels to it (Istio's HBONE).
    const { endpoint_id: destination } = fieldsOf(internal, place);
    if (destination === undefined) return undefined;
    if (typeof destination !== "string")
      throw unreadable(place, "a tunnel leads to something that is no text");
    return addressOf(destination);
  }
  const text = fieldsOf(socket, place)["address"];
  const address = canonicalAddress(text);
  if (address === undefined) throw unreadable(place, "a host has no address");
  return address;
}

export const envoyKind: ConsumerKind = {
  facts,
  make: (where) => (where.startsWith("/") ? envoy(new URL("http://envoy/"), where) : atUrl(envoy)(where)),
};
