import { unreadable } from "../consumer.ts";
import { addressOf, mentions, usedOf } from "@lameduck/protocol";
import { reachableFrom } from "./chains.ts";

const place = "nft list table";

/** What a chain or a map leads to. */
interface Part {
  /** Chains, and maps as "@name". */
  readonly next: string[];
  readonly destinations: string[];
  isEntrance: boolean;
}

/**
 * The addresses that kube-proxy in nftables mode may send new connections to, by the answer of `nft list table ip kube-proxy`: those of a dnat
 * that is reached from a hook.
 * @throws {OperatorError} where the answer is cut off, or holds what cannot be understood.
 */
export function usedInTable(text: string, asked: readonly string[]): Set<string> {
  requireWholeTable(text);
  const lines = text.trimEnd().split("\n");
  if (!hasServicesInTable(text))
    throw unreadable(place, "it holds no Service, not even that of the API server");
  return mentions(text, asked) ? usedOf(asked, destinationsOf(lines)) : new Set();
}

/** Whether it leads to a Service. The API server's Service is always there in the cluster's first address family. */
export function hasServicesInTable(text: string): boolean {
  return /^\tchain service-/m.test(text);
}

/** @throws {OperatorError} */
export function requireWholeTable(text: string): void {
  if (!/^table ip6? kube-proxy \{\n/.test(text) || !text.endsWith("\n}\n"))
    throw unreadable(place, "the table is cut off");
}

function destinationsOf(lines: readonly string[]): ReadonlySet<string> {
  const parts = partsOf(lines);
  const entrances = Array.from(parts).flatMap(([name, { isEntrance }]) => (isEntrance ? [name] : []));
  if (entrances.length === 0) throw unreadable(place, "no chain of it is called by the kernel");
  const jumps = new Map(Array.from(parts, ([name, { next }]) => [name, next]));
  const destinations = new Set<string>();
  for (const name of reachableFrom(entrances, jumps)) {
    const part = parts.get(name);
    // A target that is not in the output could lead anywhere.
    if (part === undefined)
      throw unreadable(place, `it leads to ${name.slice(0, 200)}, which it does not show`);
    for (const address of part.destinations) destinations.add(address);
  }
  return destinations;
}

/** Chains by name, and maps by "@name": each begins and ends on a line of its own. */
function partsOf(lines: readonly string[]): ReadonlyMap<string, Part> {
  const parts = new Map<string, Part>();
  let current: Part | undefined;
  let isVerdicts = true;
  for (const line of lines) {
    const [, kind, name = ""] = /^\t(chain|map|set) (\S+) \{/.exec(line) ?? [];
    if (kind !== undefined) {
      current = { next: [], destinations: [], isEntrance: false };
      isVerdicts = kind !== "map";
      parts.set(kind === "chain" ? name : `@${name}`, current);
    } else if (line === "\t}") current = undefined;
    else if (current !== undefined) {
      const bare = line.replace(/"[^"]*"/g, "");
      if (/^\t\ttype .* : verdict$/.test(bare)) isVerdicts = true;
      else read(bare, current, isVerdicts);
    }
  }
  return parts;
}

function read(line: string, part: Part, isVerdicts: boolean): void {
  if (/^\t\ttype \S+ hook /.test(line)) part.isEntrance = true;
  for (const [, chain = ""] of line.matchAll(/\b(?:goto|jump) ([^\s,}]+)/g)) part.next.push(chain);
  for (const [, map = ""] of line.matchAll(/\bv?map (@[^\s,}]+)/g)) part.next.push(map);
  // The elements of a map without verdicts are data for a rule that uses the map.
  // "ct status dnat" is a match, not an action.
  const dnat = isVerdicts ? line.search(/(?<!\bct status) dnat /) : 0;
  if (dnat < 0) return;
  // As in "dnat to 10.0.0.1:80" and "dnat ip to numgen random mod 2 map { 0 : 10.0.0.1 . 80, 1 : 10.0.0.2 . 80 }".
  const addresses = line
    .slice(dnat)
    .split(/[\s,{}]+/)
    .flatMap((word) => addressOf(word) ?? []);
  if (addresses.length === 0 && isVerdicts && !/\bmap @/.test(line.slice(dnat)))
    throw unreadable(place, `a rule without an address: ${line.trim().slice(0, 300)}`);
  part.destinations.push(...addresses);
}
