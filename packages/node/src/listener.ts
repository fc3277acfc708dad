import { Server as NetServer } from "node:net";
import { nextTurn } from "./clock.ts";

/** Turns of the event loop without a new connection after which the accept queue counts as empty. */
const quietTurns = 2;
const mostTurns = 100;

/**
 * Closing a listener resets whatever waits in its accept queue, requests already sent included. So first the queue is shortened:
 * the kernel then leaves further connections unanswered, which their senders may try again without harm, while what has come in is
 * still accepted. Shortening is a second listen() on the same handle, which Node has no public name for; where it fails the
 * queue is emptied as well as can be.
 */
export async function emptyQueue(servers: readonly NetServer[], accepted: () => number): Promise<void> {
  for (const server of servers) shorten(server);
  let before = accepted();
  let quiet = 0;
  for (let turn = 0; turn < mostTurns && quiet < quietTurns; turn++) {
    await nextTurn();
    quiet = accepted() === before ? quiet + 1 : 0;
    before = accepted();
  }
}

function shorten(server: NetServer): void {
  const { _handle: handle } = server as { _handle?: { listen?: (backlog: number) => number } | null };
  if (server.listening && typeof handle?.listen === "function") handle.listen(0);
}

/** The close() of net, because those of http and http2 also end connections at once, and a request may be on its way on them. */
export function closeListener(server: NetServer): void {
  if (server.listening) NetServer.prototype.close.call(server);
}
