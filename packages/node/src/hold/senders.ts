import type { Socket } from "node:net";
import { remoteEnd } from "../internals.ts";

/** Whose a new connection is. A socket that is not Node's may have an address and no more. */
export function senderOf(socket: Socket): string {
  return addressOf(remoteEnd(socket)?.address ?? socket.remoteAddress);
}

/** Peers are told apart by address; Unix sockets have none. IPv4 peers of an IPv6 listener are the same senders. */
export function addressOf(address: string | undefined): string {
  if (address === undefined) return "unix";
  return address.startsWith("::ffff:") ? address.slice(7) : address;
}
