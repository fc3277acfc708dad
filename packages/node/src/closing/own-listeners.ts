import { readdirSync, readlinkSync } from "node:fs";
import type { Server as NetServer } from "node:net";
import { comesFromOutside, descriptorOf } from "../internals.ts";
import { parentOf } from "../servers/loopback-peer.ts";

/** The look at other processes takes a millisecond in a container. It is given up after this time, and nothing is known. */
const longestLookMs = 250;

/**
 * Those listeners whose accept queue is this process's alone. Where others accept from it, too (workers of node:cluster without a schedule, children that
 * were passed the handle, a service manager that opened it), shortening it would be for good, and closing resets nothing.
 * Whose it is cannot always be known: one that may be shared counts as shared.
 */
export function ownListeners(servers: readonly NetServer[]): readonly NetServer[] {
  const sockets = new Map<string, NetServer>();
  for (const server of servers) {
    const descriptor = comesFromOutside(server) ? undefined : descriptorOf(server);
    const socket = descriptor === undefined ? undefined : target(`/proc/self/fd/${descriptor}`);
    if (socket?.startsWith("socket:")) sockets.set(socket, server);
  }
  const until = performance.now() + longestLookMs;
  for (const socket of sockets.size > 0 ? socketsOfOthers() : []) {
    sockets.delete(socket);
    if (performance.now() > until) return [];
  }
  return [...sockets.values()];
}

function* socketsOfOthers(): Iterable<string> {
  for (const id of relatives())
    for (const descriptor of list(`/proc/${id}/fd`)) yield target(`/proc/${id}/fd/${descriptor}`) ?? "";
}

/**
 * Processes to which Node can pass a handle, directly or by another: descendants, the parent and what else descends from it. Process 1 is the parent of
 * whoever has lost his own.
 */
function relatives(): number[] {
  const parents = new Map<number, number>();
  for (const id of list("/proc")) if (/^\d+$/.test(id)) parents.set(Number(id), parentIfThere(Number(id)));
  const family = new Set([process.pid, ...(process.ppid > 1 ? [process.ppid] : [])]);
  const isRelated = (id: number): boolean => {
    let each: number | undefined = id;
    // Numbers that are given again meanwhile could make a circle.
    for (let steps = 0; each !== undefined && each > 0 && steps < parents.size; steps++) {
      if (family.has(each)) return true;
      each = parents.get(each);
    }
    return false;
  };
  return [...parents.keys()].filter((id) => id !== process.pid && isRelated(id));
}

function parentIfThere(id: number): number {
  try {
    return parentOf(id);
  } catch {
    return 0;
  }
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function target(link: string): string | undefined {
  try {
    return readlinkSync(link);
  } catch {
    return undefined;
  }
}
