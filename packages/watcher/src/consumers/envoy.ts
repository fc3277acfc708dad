import { canonicalAddress } from "@lameduck/protocol";
import { envoy as facts } from "@lameduck/senders";
import { askHttp, atUrl, fieldsOf, listOf, readJson } from "./ask.ts";
import { stateConsumer, unreadable, type Consumer, type ConsumerKind } from "../consumer.ts";

/** Envoy's default panic threshold. With fewer healthy hosts it sends to all hosts of the cluster, draining ones included. */
const panicThreshold = 0.5;

/**
 * Envoy, by its administration interface. A host is let go of when it is no longer listed, or when EDS says that it drains and the cluster is far
 * from panic mode. In panic mode Envoy may choose an unhealthy host. It still chooses a host whose removal waits for a health check.
 */
export function envoy(admin: URL): Consumer {
  const url = new URL("/clusters?format=json", admin);
  return stateConsumer(facts, async (signal) => hostsInUse(await askHttp(url, signal), url.href));
}

/** @throws {OperatorError} where the answer is none of Envoy's. */
export function hostsInUse(text: string, place: string): ReadonlySet<string> {
  const { cluster_statuses: clusters } = fieldsOf(readJson(text, place), place);
  if (!Array.isArray(clusters)) throw unreadable(place, "it has no cluster_statuses");
  const used = new Set<string>();
  for (const cluster of clusters) {
    const hosts = listOf(fieldsOf(cluster, place)["host_statuses"], place).flatMap((entry) =>
      hostOf(entry, place),
    );
    const healthy = hosts.filter(({ isHealthy }) => isHealthy).length;
    const isCalm = healthy > 0 && healthy >= hosts.length * panicThreshold;
    for (const { address, drains } of hosts) if (!drains || !isCalm) used.add(address);
  }
  return used;
}

interface Host {
  readonly address: string;
  readonly isHealthy: boolean;
  readonly drains: boolean;
}

/** Empty for entries that are no pods: pipes and internal listeners. */
function hostOf(entry: unknown, place: string): Host[] {
  const host = fieldsOf(entry, place);
  const { eds_health_status: edsStatus = "HEALTHY", ...failures } = fieldsOf(
    host["health_status"] ?? {},
    place,
  );
  const endpoint = fieldsOf(host["address"], place)["socket_address"];
  if (endpoint === undefined) return [];
  const text = fieldsOf(endpoint, place)["address"];
  const address = typeof text === "string" ? canonicalAddress(text) : undefined;
  if (address === undefined) throw unreadable(place, "a host has no address");
  // Every other field there is a reason to be unhealthy.
  const hasFailed = Object.values(failures).some((value) => value !== false);
  const isHealthy =
    !hasFailed && (edsStatus === "HEALTHY" || edsStatus === "UNKNOWN" || edsStatus === "DEGRADED");
  return [{ address, isHealthy, drains: edsStatus === "DRAINING" }];
}

export const envoyKind: ConsumerKind = {
  facts,
  make: atUrl(envoy),
};
