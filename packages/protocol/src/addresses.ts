import { isIPv4, isIPv6, SocketAddress } from "node:net";

/** The canonical spelling by which addresses are compared; undefined for any other text, and for what is no text. */
export function canonicalAddress(text: unknown): string | undefined {
  if (typeof text !== "string") return undefined;
  if (isIPv4(text)) return text;
  if (!isIPv6(text) || text.includes("%")) return undefined;
  const { address } = new SocketAddress({ address: text, family: "ipv6" });
  // An IPv4-mapped address is compared as IPv4.
  const mapped = /^::ffff:([0-9.]+)$/.exec(address)?.[1];
  return mapped ?? address;
}

/** The address in "10.0.0.1:80", "[fd00::1]:80", "10.0.0.1" or "fd00::1"; undefined for any other text. */
export function addressOf(destination: string): string | undefined {
  const six = /^\[([^\]]+)\](?::\d+)?$/.exec(destination)?.[1];
  if (six !== undefined) return canonicalAddress(six);
  return canonicalAddress(destination.includes(".") ? destination.replace(/:\d+$/, "") : destination);
}

/** Those of `asked` that are used, in the spelling of `asked`. */
export function usedOf(asked: readonly string[], used: ReadonlySet<string>): Set<string> {
  return new Set(asked.filter((address) => used.has(canonicalAddress(address) ?? address)));
}

/**
 * Whether a text may contain one of the addresses. Rules are parsed only then: with thousands of Services the search is a tenth of the work.
 * An IPv6 address has several spellings, so that the answer for it is always yes.
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
