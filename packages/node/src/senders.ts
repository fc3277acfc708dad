/** Peers are told apart by address; Unix sockets have none. */
export function senderOf(address: string | undefined): string {
  if (address === undefined) return "unix";
  return address.startsWith("::ffff:") ? address.slice(7) : address;
}
