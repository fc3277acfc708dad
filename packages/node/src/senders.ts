import type { Socket } from "node:net";

interface Handle {
  getpeername?: (out: { address?: string }) => number;
}

/**
 * Whose a new connection is. Asked of the handle (1.2 us), because `remoteAddress` keeps its answer on the socket: sockets that were asked would be
 * of another shape than those that were not, and whatever touches sockets would have to tell them apart.
 */
export function senderOf(socket: Socket): string {
  const { _handle: handle } = socket as { _handle?: Handle | null };
  if (typeof handle?.getpeername !== "function") return addressOf(socket.remoteAddress);
  const peer: { address?: string } = {};
  handle.getpeername(peer);
  return addressOf(peer.address);
}

/** Peers are told apart by address; Unix sockets have none. IPv4 peers of an IPv6 listener are the same senders. */
export function addressOf(address: string | undefined): string {
  if (address === undefined) return "unix";
  return address.startsWith("::ffff:") ? address.slice(7) : address;
}
