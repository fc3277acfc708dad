import { unreadable } from "../consumers/consumer.ts";
import { addressOf, mentions, usedOf } from "./addresses.ts";
import { reachableFrom } from "./reachable.ts";

/** Where kube-proxy's own rules begin: what is not reached from here is left over. */
const entrances = ["KUBE-SERVICES", "KUBE-NODEPORTS", "KUBE-EXTERNAL-SERVICES"] as const;

/** As in: -A KUBE-SEP-X -p tcp -m comment --comment "a \"b\" c" -m tcp -j DNAT --to-destination 10.0.0.1:80 */
const word = /"(?:[^"\\]|\\.)*"|[^\s"]+/g;

const place = "iptables-save -t nat";

/** Whether kube-proxy has its chains in the table. */
export function isKubeProxyNat(text: string): boolean {
  return /^:KUBE-SERVICES /m.test(text);
}

/** In IPVS mode kube-proxy matches sets here, and the endpoints are elsewhere. */
export function isForIpvs(text: string): boolean {
  return /^-A KUBE-SERVICES .*--match-set KUBE-/m.test(text);
}

/**
 * The addresses that kube-proxy may send new connections to, by the answer of `iptables-save -t nat`: those of a DNAT that is reached.
 * @throws {OperatorError} where the answer is cut off, or holds what cannot be understood.
 */
export function usedInNat(text: string, asked: readonly string[]): Set<string> {
  requireWholeNat(text);
  return mentions(text, asked) ? usedOf(asked, destinationsOf(text)) : new Set();
}

/** The program ends the table with COMMIT: without it something is missing. @throws {OperatorError} */
export function requireWholeNat(text: string): void {
  // Another version of the program wrote them, or another program: "# Table `nat' is incompatible, use 'nft' tool."
  if (/^# Table .* is incompatible/im.test(text.slice(0, 2_000)))
    throw unreadable(place, "rules that this version of iptables does not understand");
  const lines = text.split("\n", 20).filter((line) => line !== "" && !line.startsWith("#"));
  const hasTable = lines[0] === "*nat";
  const isWhole = /\nCOMMIT\n(#[^\n]*\n?)*$/.test(text.slice(-1_000));
  if (lines.length > 0 && !(hasTable && isWhole)) throw unreadable(place, "the list of rules is cut off");
}

function destinationsOf(text: string): ReadonlySet<string> {
  const jumps = new Map<string, string[]>();
  const destinations = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    // Chains of others are not followed: a port mapping of the CNI leads to its pod until that ends.
    if (!line.startsWith("-A KUBE-")) continue;
    const [, chain = "", ...words] = line.match(word) ?? [];
    const target = after(words, "-j") ?? after(words, "-g");
    if (target?.startsWith("KUBE-") === true) add(jumps, chain, target);
    else if (target === "DNAT") add(destinations, chain, destination(words, line));
  }
  const used = new Set<string>();
  for (const chain of reachableFrom(entrances, jumps))
    for (const address of destinations.get(chain) ?? []) used.add(address);
  return used;
}

function destination(words: readonly string[], line: string): string {
  const address = addressOf(after(words, "--to-destination") ?? "");
  if (address === undefined)
    throw unreadable(place, `a destination that is no address: ${line.slice(0, 300)}`);
  return address;
}

function after(words: readonly string[], flag: string): string | undefined {
  const index = words.indexOf(flag);
  return index < 0 ? undefined : words[index + 1];
}

function add(to: Map<string, string[]>, key: string, value: string): void {
  const list = to.get(key);
  if (list === undefined) to.set(key, [value]);
  else list.push(value);
}
