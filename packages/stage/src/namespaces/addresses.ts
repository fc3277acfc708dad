/**
 * 198.18.0.0/15 is set aside for measuring (RFC 2544), so that no real host is ever meant. The lower half is ours: .0 to .15 for the
 * node and the senders, the rest for pods. No address is used twice in a run: a neighbour table that still knows the old pod would
 * lend it the new one's traffic.
 */
export const prefixLength = 16;
export const nodeAddress = "198.18.0.1";
export const apiServer = { host: nodeAddress, port: 443 };

const perBlock = 250;

export function senderAddressOf(number: number): string {
  return addressOf(0, number + 1, 16);
}

export function podAddressOf(number: number): string {
  return addressOf(16, number, 256);
}

function addressOf(firstBlock: number, number: number, blockLimit: number): string {
  const block = firstBlock + Math.floor(number / perBlock);
  if (block >= blockLimit) throw new RangeError("the stage's addresses are used up");
  return `198.18.${block}.${(number % perBlock) + 1}`;
}
