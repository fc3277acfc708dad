import { canonicalAddress, usedOf } from "../rules/addresses.ts";
import { askHttp, fieldsOf, listOf, readJson } from "./ask.ts";
import { unreadable, type Consumer } from "./consumer.ts";

/** Envoy's own default: where fewer hosts of a cluster are healthy it sends to all of them, also to those that drain. */
const panicThreshold = 0.5;

/**
 * Envoy by its administration interface. A host is let go of when it is not listed any more, or when EDS says that it drains and the cluster
 * is far from panic mode. One that is unhealthy may be chosen in panic mode, and one whose removal waits for its health check is chosen still.
 */
export function envoy(admin: URL): Consumer {
  const url = new URL("/clusters?format=json", admin);
  return {
    kind: "envoy",
    basis: "state",
    stillUsed: async (addresses, signal) =>
      usedOf(addresses, hostsInUse((await askHttp(url, signal)).text, url.href)),
  };
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

/** None for what is no pod: pipes and internal listeners. */
function hostOf(entry: unknown, place: string): Host[] {
  const host = fieldsOf(entry, place);
  const { eds_health_status: said = "HEALTHY", ...failures } = fieldsOf(host["health_status"] ?? {}, place);
  const endpoint = fieldsOf(host["address"], place)["socket_address"];
  if (endpoint === undefined) return [];
  const text = fieldsOf(endpoint, place)["address"];
  const address = typeof text === "string" ? canonicalAddress(text) : undefined;
  if (address === undefined) throw unreadable(place, "a host has no address");
  // Everything else that it lists there is a reason not to be healthy.
  const hasFailed = Object.values(failures).some((value) => value !== false);
  const isHealthy = !hasFailed && (said === "HEALTHY" || said === "UNKNOWN" || said === "DEGRADED");
  return [{ address, isHealthy, drains: said === "DRAINING" }];
}
