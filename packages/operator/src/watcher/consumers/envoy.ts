import { canonicalAddress, usedOf } from "../rules/addresses.ts";
import { askHttp, fieldsOf, listOf, readJson } from "./ask.ts";
import { unreadable, type Consumer } from "./consumer.ts";

/**
 * Envoy by its administration interface. A host is let go of when it is not listed any more, or when EDS says that it drains. One that
 * is unhealthy may be chosen in panic mode, and one whose removal waits for its health check is chosen still.
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
  for (const cluster of clusters)
    for (const entry of listOf(fieldsOf(cluster, place)["host_statuses"], place)) {
      const host = fieldsOf(entry, place);
      const { eds_health_status: health } = fieldsOf(host["health_status"] ?? {}, place);
      if (health === "DRAINING") continue;
      const endpoint = fieldsOf(host["address"], place)["socket_address"];
      // Pipes and internal listeners are no pods.
      if (endpoint === undefined) continue;
      const said = fieldsOf(endpoint, place)["address"];
      const address = typeof said === "string" ? canonicalAddress(said) : undefined;
      if (address === undefined) throw unreadable(place, "a host has no address");
      used.add(address);
    }
  return used;
}
