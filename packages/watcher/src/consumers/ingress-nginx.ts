import { canonicalAddress } from "@lameduck/protocol";
import { ingressNginx as facts } from "@lameduck/senders";
import { askHttp, atUrl, fieldsOf, listOf, readJson } from "./ask.ts";
import { unreadable, type Consumer, type ConsumerKind } from "../consumer.ts";
import { leavingPatience, mastersStartedBy, startOf, workersBelow, type Workers } from "./nginx-processes.ts";

const controllerName = "nginx-ingress-controller";
const statusServer = new URL("http://127.0.0.1:10246");

/** Milliseconds: BACKENDS_SYNC_INTERVAL of balancer.lua, counted from the end of a copy to the beginning of the next one. */
const copyInterval = 1_000;
/** Milliseconds by which a worker's timer is late, and its copy takes; more where answers take longer, which a worker gives, too. */
const leastDelay = 500;

/** What the status server has answered. Times are milliseconds since 1970. */
interface List {
  readonly text: string;
  readonly lists: ReadonlySet<string>;
  /** Seen to come: the one before was seen, too. */
  readonly isNew: boolean;
  /** The end of the first answer with it. It was written before. */
  readonly firstSeen: number;
  /** The beginning of the last one. What follows it is written later. */
  lastSeen: number;
}

/** An address that the list does not hold any more. */
interface Absent {
  /** The end of the first answer without it, by the monotonic clock. */
  readonly since: number;
  /** The longest that an answer has taken since, milliseconds. */
  slowest: number;
  /** The workers that were leaving then: they stay with what they have. One that begins to leave copies the list first. */
  readonly leaving: ReadonlySet<string>;
}

/**
 * ingress-nginx, by the list that its controller has written for the workers, at the status server. It has let go of an address when the list does
 * not hold it, each worker has copied the list since, and the workers of an earlier configuration have ended. That workers have copied it follows
 * from time: each does so every second.
 */
export function ingressNginx(
  base: URL,
  workers: () => Workers | readonly Workers[] = () => workersStartedBy(controllerName),
): Consumer {
  const url = new URL("/configuration/backends", base);
  let known = new Map<string, Absent>();
  let list: List | undefined;
  /** Addresses of a list that workers may have kept. */
  let kept: ReadonlySet<string> = new Set();
  let reason: string | undefined;
  return {
    kind: facts.name,
    basis: "syncs",
    stillUsed: async (addresses, signal) => {
      const before = known;
      // What cannot be read begins anew.
      known = new Map();
      const began = { at: performance.now(), date: Date.now() };
      const text = await askHttp(url, signal);
      const at = performance.now();
      const seen = listed(list, text, url.href, began.date);
      if (list !== undefined && seen !== list) kept = keptFrom(list, kept, seen);
      list = seen;
      // After the answer: who was leaving when the list was written still does, or has ended.
      const all = [workers()].flat();
      const leaving = new Set(all.flatMap((one) => one.leaving.map(({ key }) => key)));
      const hasPatience = all.some((one) => Date.now() < startOf(one) + leavingPatience);
      const used = addresses.filter((address) => {
        if (seen.lists.has(address) || kept.has(address)) return true;
        const absent = before.get(address) ?? { since: at, slowest: 0, leaving };
        absent.slowest = Math.max(absent.slowest, at - began.at);
        known.set(address, absent);
        const isCopied = at - absent.since >= copyInterval + Math.max(leastDelay, absent.slowest);
        const isHeldByOld = hasPatience && [...absent.leaving].some((key) => leaving.has(key));
        return !isCopied || isHeldByOld;
      });
      reason = used.some((address) => kept.has(address)) ? keptReason : undefined;
      return new Set(used);
    },
    reason: () => reason,
    rest: () => {
      // Who does not look does not know when the next list comes.
      list = undefined;
      kept = new Set();
      known = new Map();
      reason = undefined;
    },
  };
}

const keptReason = "its list has changed twice within a second, workers may have kept the first one";

function listed(last: List | undefined, text: string, place: string, began: number): List {
  if (last?.text === text) {
    last.lastSeen = began;
    return last;
  }
  const lists = endpointsIn(text, place);
  return { text, lists, isNew: last !== undefined, firstSeen: Date.now(), lastSeen: began };
}

const secondOf = (milliseconds: number): number => Math.floor(milliseconds / 1_000);

/**
 * Workers know a list by the second in which it was written. They take a second list of the same second for the first one. Workers that have copied
 * the first one keep it until a list of another second comes.
 */
function keptFrom(last: List, kept: ReadonlySet<string>, next: List): ReadonlySet<string> {
  const isMissed = last.isNew && secondOf(last.lastSeen) <= secondOf(last.firstSeen);
  const all = isMissed ? [...kept, ...last.lists] : [];
  return new Set(all.filter((address) => !next.lists.has(address)));
}

/** All endpoints of all backends. @throws {OperatorError} where the answer is none of ingress-nginx's. */
export function endpointsIn(text: string, place: string): ReadonlySet<string> {
  // Lua prints it until the controller has written a list.
  if (text === "nil") throw unreadable(place, "the controller has not written its list yet");
  const backends = readJson(text, place);
  if (!Array.isArray(backends) || backends.length === 0)
    throw unreadable(place, "it lists no backend, not even the default one");
  const used = new Set<string>();
  for (const entry of backends) {
    const { name, endpoints, service } = fieldsOf(entry, place);
    if (typeof name !== "string") throw unreadable(place, "a backend has no name");
    for (const endpoint of listOf(endpoints, place)) {
      const { address } = fieldsOf(endpoint, place);
      const found = canonicalAddress(address);
      if (found !== undefined) used.add(found);
      else if (!isExternalName(service, place)) throw unreadable(place, "an endpoint has no address");
    }
  }
  return used;
}

/** Its only endpoint may be a host by name, which is no pod. */
function isExternalName(service: unknown, place: string): boolean {
  return (
    service !== undefined && fieldsOf(fieldsOf(service, place)["spec"], place)["type"] === "ExternalName"
  );
}

/** Of every nginx that a controller has started here: on a node there may be several. @throws {OperatorError} */
export function workersStartedBy(controller: string): readonly Workers[] {
  const masters = mastersStartedBy(controller);
  if (masters.length > 0) return masters.map((master) => workersBelow(master, controller));
  throw unreadable(controller, "no nginx of it is seen here; the watcher must see its processes");
}

export const ingressNginxKind: ConsumerKind = {
  facts,
  make: (where) => (where === "" ? ingressNginx(statusServer) : atUrl(ingressNginx)(where)),
};
