import { canonicalAddress } from "@lameduck/protocol";
import { cilium as facts } from "@lameduck/senders";
import { askHttp, fieldsOf, listOf, readJson } from "./ask.ts";
import { stateConsumer, unreadable, type Consumer, type ConsumerKind } from "../consumer.ts";

const url = new URL("http://cilium/v1/service");

/** Cilium's agent by its API: the Services that it has written into the kernel's maps, with the backends that connections may be sent to. */
export function cilium(socketPath: string): Consumer {
  return stateConsumer(facts, async (signal) =>
    backendsOf(await askHttp(url, signal, { socketPath }), socketPath),
  );
}

/** @throws {OperatorError} where the answer is none of Cilium's. */
export function backendsOf(text: string, place: string): ReadonlySet<string> {
  const services = readJson(text, place);
  if (!Array.isArray(services) || services.length === 0)
    throw unreadable(place, "it lists no Service, not even that of the API server");
  return new Set(
    services.flatMap((service) => {
      // What has been written, not what was asked for.
      const { realized } = fieldsOf(fieldsOf(service, place)["status"], place);
      return chosen(listOf(fieldsOf(realized, place)["backend-addresses"] ?? undefined, place), place);
    }),
  );
}

/** Backends that are active; where none is, those that terminate or are quarantined are chosen, too. */
function chosen(backends: readonly unknown[], place: string): string[] {
  const read = backends.map((entry) => {
    const { ip, state = "active" } = fieldsOf(entry, place);
    const address = typeof ip === "string" ? canonicalAddress(ip) : undefined;
    if (address === undefined) throw unreadable(place, "a backend has no address");
    return { address, state };
  });
  const resting = new Set<unknown>(["terminating", "quarantined", "maintenance"]);
  const active = read.filter(({ state }) => !resting.has(state));
  const rest = read.filter(({ state }) => state !== "maintenance");
  return (active.length > 0 ? active : rest).map(({ address }) => address);
}

export const ciliumKind: ConsumerKind = {
  facts,
  make: (where) => cilium(where === "" ? "/run/cilium/cilium.sock" : where),
};
