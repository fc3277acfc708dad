import { connect, type AddressInfo, type Server as NetServer, type Socket } from "node:net";
import { nextTurn } from "./clock.ts";

/** Each costs a turn of the event loop, in which one more client is let in. */
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
    const calls = servers.filter(hasQueueOfItsOwn).map(call);
    await connecting();
    if (calls.every(isEstablished) || attempt === mostAttempts)
      return { [Symbol.dispose]: () => endAll(calls) };
    endAll(calls);
    await nextTurn();
  }
}

/** Listeners of node:cluster and of Unix sockets are left alone: the former are the primary's, the latter not asked about below. */
function hasQueueOfItsOwn(server: NetServer): boolean {
  const { _handle: handle } = server as { _handle?: { fd?: unknown } | null };
  return server.listening && typeof handle?.fd === "number" && typeof server.address() === "object";
}

function call(server: NetServer): Socket {
  const { address, port } = server.address() as AddressInfo;
  const host = address === "0.0.0.0" ? "127.0.0.1" : address === "::" ? "::1" : address;
  return connect({ host, port }).on("error", () => {});
}

/** net connects to an address in the next tick, which comes before anything is accepted. Over loopback the kernel needs no more time. */
const connecting = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

/** What the kernel knows already and Node only says in the loop's next turn. */
function isEstablished(socket: Socket): boolean {
  const { _handle: handle } = socket as { _handle?: { getpeername?: (name: object) => number } | null };
  return handle?.getpeername?.({}) === 0;
}

function endAll(calls: readonly Socket[]): void {
  for (const socket of calls) socket.destroy();
}
