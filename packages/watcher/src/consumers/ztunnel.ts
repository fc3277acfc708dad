import { shown } from "@lameduck/drain/common";
import { canonicalAddress } from "@lameduck/protocol";
import { ztunnel as facts } from "@lameduck/senders";
import { askHttp, atUrl, fieldsOf, readJson } from "./ask.ts";
import { stateConsumer, unreadable, type Consumer, type ConsumerKind } from "../consumer.ts";

/**
 * ztunnel, the proxy of each node in Istio's ambient mode, by its administration interface. It chooses among the endpoints of a Service
 * whatever their status: unhealthy ones are not among them, unless the Service wants all (ztunnel's src/state.rs and state/service.rs).
 */
export function ztunnel(admin: URL): Consumer {
  const url = new URL("/config_dump", admin);
  return stateConsumer(facts, async (signal) => endpointsIn(await askHttp(url, signal), url.href));
}

/** @throws {OperatorError} where the answer is none of ztunnel's. */
export function endpointsIn(text: string, place: string): ReadonlySet<string> {
  const { workloads, services, stagedServices } = fieldsOf(readJson(text, place), place);
  if (!Array.isArray(workloads) || !Array.isArray(services))
    throw unreadable(place, "it has no workloads or no services");
  // Without istiod it knows nobody, and has let go of nobody.
  if (services.length === 0) throw unreadable(place, "it lists no service");
  const addresses = new Map(workloads.map((workload) => addressesOf(workload, place)));
  const used = new Set<string>();
  const endpoints = [
    ...services.map((service) => fieldsOf(service, place)["endpoints"]),
    // Their Service is not known yet, and makes them endpoints when it comes.
    ...Object.values(fieldsOf(stagedServices, place)),
  ];
  for (const all of endpoints)
    for (const endpoint of Object.values(fieldsOf(all, place))) {
      const { workloadUid } = fieldsOf(endpoint, place);
      const own = typeof workloadUid === "string" ? addresses.get(workloadUid) : undefined;
      if (own === undefined) throw unreadable(place, `the workload ${shown(workloadUid)} is not listed`);
      for (const address of own) used.add(address);
    }
  return used;
}

/** Of a workload in another network there are none: its gateway is known instead. */
function addressesOf(workload: unknown, place: string): [uid: string, addresses: readonly string[]] {
  const { uid, workloadIps } = fieldsOf(workload, place);
  if (typeof uid !== "string" || !Array.isArray(workloadIps))
    throw unreadable(place, "a workload has no uid or no addresses");
  const addresses = workloadIps.map((text: unknown) => {
    const address = canonicalAddress(text);
    if (address === undefined) throw unreadable(place, "an address of a workload is none");
    return address;
  });
  return [uid, addresses];
}

export const ztunnelKind: ConsumerKind = {
  facts,
  make: atUrl(ztunnel),
};
