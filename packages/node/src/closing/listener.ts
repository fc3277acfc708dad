import { Server as NetServer } from "node:net";
import { nextTurn } from "../clock.ts";
import { isClosedBeneath, shortenQueue } from "../internals.ts";

/** Turns of the event loop without a new connection after which the accept queue counts as empty. */
const quietTurns = 2;
const mostTurns = 100;

/**
 * Closing a listener resets whatever waits in its accept queue, requests already sent included. So first the queue is shortened:
 * the kernel then leaves further connections unanswered, which their senders may try again without harm, while what has come in is
 * still accepted.
 * @param own those whose queue is nobody else's.
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

/**
 * The close() of net, because those of http and http2 also end connections at once, and a request may be on its way on them.
 * @returns false where the program has closed it, or is to find it open.
 */
export function closeListener(server: NetServer): boolean {
  if (!server.listening || isClosedBeneath(server)) return false;
  NetServer.prototype.close.call(server);
  return true;
}
