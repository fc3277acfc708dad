import { readFileSync } from "node:fs";
import { connect, type AddressInfo, type Server as NetServer, type Socket } from "node:net";
import { nextTurn } from "../clock.ts";
import { localEnd, remoteEnd, type EndOfConnection } from "../internals.ts";

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
  if (!remote || !local) return false;
  try {
    const sockets = readFileSync(remote.family === "IPv6" ? "/proc/net/tcp6" : "/proc/net/tcp", "latin1");
    return new RegExp(`:${inHex(remote)} [0-9A-F]+:${inHex(local)} ${established} `).test(sockets);
  } catch {
    return true;
  }
}

/** TCP_ESTABLISHED, as /proc/net/tcp says it. */
const established = "01";

const inHex = ({ port = 0 }: EndOfConnection): string => port.toString(16).toUpperCase().padStart(4, "0");

function endAll(calls: readonly Socket[]): void {
  for (const socket of calls) socket.destroy();
}
