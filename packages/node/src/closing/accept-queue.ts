import { connect, type AddressInfo, type Server as NetServer, type Socket } from "node:net";
import { nextTurn } from "../clock.ts";
import { comesFromOutside, descriptorOf, localEnd, remoteEnd, shortenQueue } from "../internals.ts";
import { established, inodesIn, parentOf, processes, socketAt, socketsOf, socketTable } from "../proc.ts";

/** The look at other processes takes a millisecond in a container. It is given up after this time, and nothing is known. */
const longestLookMs = 250;

/**
 * Those listeners whose accept queue is this process's alone. Others may accept from it, too: workers of node:cluster without a schedule, children
 * that were passed the handle, a service manager that opened it. Shortening such a queue would be for good, and closing its listener resets nothing.
 * Whose it is cannot always be known: one that may be shared counts as shared.
 */
export function ownListeners(servers: readonly NetServer[]): readonly NetServer[] {
  const sockets = new Map<string, NetServer>();
  for (const server of servers) {
    const descriptor = comesFromOutside(server) ? undefined : descriptorOf(server);
    const socket = descriptor === undefined ? undefined : socketAt("self", descriptor);
    if (socket !== undefined) sockets.set(socket, server);
  }
  const until = performance.now() + longestLookMs;
  for (const id of sockets.size > 0 ? relatives() : []) {
    for (const socket of socketsOf(id)) sockets.delete(socket);
    if (performance.now() > until) return [];
  }
  return [...sockets.values()];
}

/**
 * The processes that may share a listener: Node passes a handle to a child, or to the parent. So they are the parent and all that descends from it.
 * Process 1 does not count as a parent: every orphan has it.
 */
function relatives(): number[] {
  const parents = new Map<number, number>();
  for (const id of processes()) parents.set(id, parentIfThere(id));
  const family = new Set([process.pid, ...(process.ppid > 1 ? [process.ppid] : [])]);
  const isRelated = (id: number): boolean => {
    let each: number | undefined = id;
    // A number that the kernel has given to a new process meanwhile could make a circle.
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

/** Turns of the event loop without a new connection after which the accept queue counts as empty. */
const quietTurns = 2;
const mostTurns = 100;

/**
 * Closing a listener resets whatever waits in its accept queue, requests already sent included. So first the queue is shortened. The kernel then
 * leaves further connections unanswered, and their senders may try again without harm. What has come in is still accepted.
 * @param own the listeners whose queue no other process accepts from.
 */
export async function emptyQueue(own: readonly NetServer[], accepted: () => number): Promise<void> {
  for (const server of own) shortenQueue(server);
  let before = accepted();
  let quiet = 0;
  for (let turn = 0; turn < mostTurns && quiet < quietTurns; turn++) {
    await nextTurn();
    quiet = accepted() === before ? quiet + 1 : 0;
    before = accepted();
  }
}

/** Each attempt costs a turn of the event loop, which lets one more client in. */
const mostAttempts = 100;

/**
 * A listener whose queue has been shortened still has room for one connection, and closing resets the client that is in it. So the
 * process calls itself: with that call in the queue the kernel lets nobody else in, and it is the only one that closing can reset.
 * Where a client was faster, it is accepted in the next turn of the loop and the call is made again.
 *
 * The queues are full when this returns, until the event loop turns: listeners are to be closed before that, and then the calls ended.
 */
export async function fillQueues(servers: readonly NetServer[]): Promise<Disposable> {
  for (let attempt = 1; ; attempt++) {
    const calls = servers.filter(hasPort).map(call);
    await connecting();
    if (calls.every(isInQueue) || attempt === mostAttempts) return { [Symbol.dispose]: () => endAll(calls) };
    endAll(calls);
    await nextTurn();
  }
}

/** Listeners of Unix sockets are left alone: isInQueue() does not find them. */
function hasPort(server: NetServer): boolean {
  return server.listening && typeof server.address() === "object";
}

function call(server: NetServer): Socket {
  const { address, port } = server.address() as AddressInfo;
  const host = address === "0.0.0.0" ? "127.0.0.1" : address === "::" ? "::1" : address;
  return connect({ host, port }).on("error", () => {});
}

/** net connects to an address in the next tick, which comes before anything is accepted. Over loopback the kernel needs no more time. */
const connecting = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

/**
 * Whether both ends are connected. The caller's end alone proves nothing: if a client's last packet came just before the caller's own, the client is
 * in the queue, and the other end of the call still waits for that packet. Without /proc/net, which only Linux has, the caller's end must do.
 */
function isInQueue(socket: Socket): boolean {
  const remote = remoteEnd(socket);
  const local = localEnd(socket);
  if (remote?.port === undefined || local?.port === undefined) return false;
  const table = socketTable(remote.family === "IPv6" ? "tcp6" : "tcp");
  if (table === "") return true;
  const between = { localPort: remote.port, remotePort: local.port, state: established };
  return inodesIn(table, between).length > 0;
}

function endAll(calls: readonly Socket[]): void {
  for (const socket of calls) socket.destroy();
}
