import { shown } from "@lameduck/drain/common";
import { canonicalAddress, usedOf } from "@lameduck/protocol";
import { cilium as facts } from "@lameduck/senders";
import { askHttp, fieldsOf, listOf, readJson } from "./ask.ts";
import { unreadable, type Consumer, type ConsumerKind } from "../consumer.ts";
import { UnusedFor } from "./unused-for.ts";

const url = new URL("http://cilium/v1/service");
/**
 * Since Cilium 1.18 the agent answers what is to be written, and calls it realized. It writes the kernel's maps a moment later
 * (pkg/loadbalancer/frontend.go and reconciler).
 */
const writtenAfterMs = 1_000;

/** Cilium's agent by its API: the Services that it writes into the kernel's maps, with the backends that connections may be sent to. */
export function cilium(socketPath: string, now?: () => number): Consumer {
  const unused = new UnusedFor(writtenAfterMs, now);
  return {
    kind: facts.name,
    basis: "syncs",
    stillUsed: async (addresses, signal) => {
      const named = backendsOf(await askHttp(url, signal, { socketPath }), socketPath);
      return unused.usedOf(addresses, usedOf(addresses, named));
    },
  };
}

/** @throws {OperatorError} where the answer is none of Cilium's. */
export function backendsOf(text: string, place: string): ReadonlySet<string> {
  const services = readJson(text, place);
  if (!Array.isArray(services) || services.length === 0)
    throw unreadable(place, "it lists no Service, not even that of the API server");
  return new Set(
    services.flatMap((service) => {
      const { realized } = fieldsOf(fieldsOf(service, place)["status"], place);
      return chosen(listOf(fieldsOf(realized, place)["backend-addresses"] ?? undefined, place), place);
    }),
  );
}

/**
 * Whether a backend in this state may be chosen (Cilium's pkg/loadbalancer/reconciler/bpf_reconciler.go). One in quarantine is not
 * chosen, but comes back by itself when it is healthy, and has not been withdrawn: a withdrawn one terminates.
 */
const states: ReadonlyMap<unknown, "always" | "where none is active" | "never"> = new Map([
  ["active", "always"],
  // Of an agent that tells no states.
  [undefined, "always"],
  ["quarantined", "always"],
  ["terminating", "where none is active"],
  ["terminating-not-serving", "never"],
  ["maintenance", "never"],
]);

function chosen(backends: readonly unknown[], place: string): string[] {
  const read = backends.map((entry) => {
    const { ip, state } = fieldsOf(entry, place);
    const address = canonicalAddress(ip);
    if (address === undefined) throw unreadable(place, "a backend has no address");
    const isChosen = states.get(state);
    if (isChosen === undefined)
      throw unreadable(place, `the state ${shown(state)} of a backend is not known`);
    return { address, isActive: state === "active", isChosen };
  });
  const hasActive = read.some(({ isActive }) => isActive);
  return read.flatMap(({ address, isChosen }) =>
    isChosen === "always" || (isChosen === "where none is active" && !hasActive) ? [address] : [],
  );
}

export const ciliumKind: ConsumerKind = {
  facts,
  make: (where) => cilium(where === "" ? "/run/cilium/cilium.sock" : where),
};
