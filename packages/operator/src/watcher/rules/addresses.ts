import { isIPv4, isIPv6, SocketAddress } from "node:net";

/** The one spelling by which addresses are compared; none for what is no address. */
export function canonicalAddress(text: string): string | undefined {
  if (isIPv4(text)) return text;
  if (!isIPv6(text) || text.includes("%")) return undefined;
  const { address } = new SocketAddress({ address: text, family: "ipv6" });
  // What an IPv4-mapped address stands for is compared as that.
  const mapped = /^::ffff:([0-9.]+)$/.exec(address)?.[1];
  return mapped ?? address;
}

/** The address of "10.0.0.1:80", "[fd00::1]:80", "10.0.0.1" or "fd00::1"; none where it is none. */
export function addressOf(destination: string): string | undefined {
  const six = /^\[([^\]]+)\](?::\d+)?$/.exec(destination)?.[1];
  if (six !== undefined) return canonicalAddress(six);
  return canonicalAddress(destination.includes(".") ? destination.replace(/:\d+$/, "") : destination);
}

/** Those of the asked that are used, as they were asked for: the spelling does not decide. */
export function usedOf(asked: readonly string[], used: ReadonlySet<string>): Set<string> {
  return new Set(asked.filter((address) => used.has(canonicalAddress(address) ?? address)));
}

/** A chain, and what stands in it while an address is used by it. */
export interface Lead {
  readonly chain: string;
  readonly says: string;
}

/** The same, with what was found of each. */
export function usesOf<T>(asked: readonly string[], uses: ReadonlyMap<string, T>): Map<string, T> {
  return new Map(
    asked.flatMap((address) => {
      const use = uses.get(canonicalAddress(address) ?? address);
      return use === undefined ? [] : [[address, use] as const];
    }),
  );
}

/**
 * Whether one of the addresses stands anywhere in a text. Rules are parsed only then: with thousands of Services it is a tenth of the work.
 * An IPv6 address has several spellings, so that it may always stand there.
 */
export function mentions(text: string, addresses: readonly string[]): boolean {
  return addresses.some((address) => !isIPv4(address) || mentionsFour(text, address));
}

function mentionsFour(text: string, address: string): boolean {
  for (let at = text.indexOf(address); at >= 0; at = text.indexOf(address, at + 1)) {
    const before = text.charCodeAt(at - 1);
    const next = text.charCodeAt(at + address.length);
    if (!isDigit(before) && !isDigit(next)) return true;
  }
  return false;
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57;
