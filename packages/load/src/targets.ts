import { BlockList, isIP } from "node:net";

import { LoadError } from "./errors.ts";

/**
 * Where load may go: loopback, and the range kept for benchmarks (RFC 2544, RFC 6815), which the local stage gives to its own network
 * namespaces. Nobody else's server is ever a target.
 */
function ownRanges(): BlockList {
  const ranges = new BlockList();
  ranges.addSubnet("127.0.0.0", 8, "ipv4");
  ranges.addSubnet("198.18.0.0", 15, "ipv4");
  ranges.addAddress("::1", "ipv6");
  return ranges;
}

export function isOwnTarget(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && ownRanges().check(address, version === 4 ? "ipv4" : "ipv6");
}

/** @throws {LoadError} LAMEDUCK_TARGET_NOT_LOCAL. */
export function requireOwnTarget(address: string, option: string): void {
  if (!isOwnTarget(address))
    throw new LoadError(
      "LAMEDUCK_TARGET_NOT_LOCAL",
      option,
      `${address} is not one of this machine's test addresses`,
    );
}
