import { addressOf } from "@lameduck/protocol";
import { traefik as facts } from "@lameduck/senders";
import { askHttp, atUrl, fieldsOf, listOf, readJson } from "./ask.ts";
import { stateConsumer, unreadable, type Consumer, type ConsumerKind } from "../consumer.ts";

/** All three lists in one answer, so that no page of them is missed. */
const lists = ["services", "tcpServices", "udpServices"] as const;

/** Traefik, by its API. A server counts as used while a service lists it unfenced, whatever its health check says. */
export function traefik(api: URL): Consumer {
  const url = new URL("/api/rawdata", api);
  return stateConsumer(facts, async (signal) => serversOf(await askHttp(url, signal), url.href));
}

/** @throws {OperatorError} where the answer is none of Traefik's. */
export function serversOf(text: string, place: string): ReadonlySet<string> {
  const data = fieldsOf(readJson(text, place), place);
  // Traefik's own services ("api@internal") are always there where the API is.
  if (data["services"] === undefined || data["routers"] === undefined)
    throw unreadable(place, "it has no services or no routers");
  const used = new Set<string>();
  for (const name of lists)
    for (const service of Object.values(fieldsOf(data[name] === undefined ? {} : data[name], place)))
      for (const server of serversIn(fieldsOf(service, place)["loadBalancer"], place)) used.add(server);
  return used;
}

/**
 * Its providers of Ingresses, IngressRoutes and Ingresses of nginx fence the server of a pod that terminates and still serves. No
 * balancer chooses it then, also where no other is left. A sticky cookie still leads there: that is looked at before (Traefik 3.7,
 * pkg/server/service/loadbalancer). The provider of the Gateway API fences nothing, nor does TCP.
 */
function serversIn(balancer: unknown, place: string): string[] {
  if (balancer === undefined) return [];
  const { servers, sticky } = fieldsOf(balancer, place);
  return listOf(servers, place).flatMap((entry) => {
    const { url, address, fenced = false } = fieldsOf(entry, place);
    const host = typeof url === "string" ? URL.parse(url)?.host : address;
    if (typeof host !== "string") throw unreadable(place, "a server has no address");
    if (typeof fenced !== "boolean") throw unreadable(place, "fenced is neither true nor false");
    if (fenced && sticky === undefined) return [];
    // A host by name leads to a Service, not to a pod.
    return addressOf(host) ?? [];
  });
}

export const traefikKind: ConsumerKind = {
  facts,
  make: atUrl(traefik),
};
